"""Answer prompts from a queue with the tokens that are most likely next."""

import queue

import torch

from model import Llama

LENGTH = 64


class Service:
    def __init__(self):
        self.model = Llama()
        self.model.eval()
        self.requests = queue.Queue()
        self.answers = queue.Queue()

    @torch.no_grad()
    def next_tokens(self, prompts):
        logits = self.model(prompts)
        return logits[:, -1].softmax(-1).topk(5)

    def run(self):
        while True:
            prompts = self.requests.get()
            if prompts is None:
                break
            probabilities, tokens = self.next_tokens(prompts)
            self.answers.put((tokens.tolist(), probabilities.tolist()))


if __name__ == "__main__":
    service = Service()
    for _ in range(200):
        service.requests.put(torch.randint(0, 1000, (4, LENGTH)))
    service.requests.put(None)
    service.run()
    print(service.answers.qsize(), "answers")
