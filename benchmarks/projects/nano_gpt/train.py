import torch
from torch.utils.data import DataLoader, Dataset

from model import GPT, GPTConfig


class Digits(Dataset):
    def __init__(self, config, length=1024):
        self.config = config
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        tokens = torch.randint(0, self.config.vocab_size, (self.config.block_size + 1,), generator=generator)
        return tokens[:-1], tokens[1:]


class Trainer:
    def __init__(self, config, model, train_dataset):
        self.config = config
        self.model = model
        self.train_dataset = train_dataset
        self.optimizer = None

    def run(self, max_iters=1000, batch_size=8, learning_rate=3e-4):
        model = self.model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.95))
        train_loader = DataLoader(self.train_dataset, shuffle=True, batch_size=batch_size)
        model.train()
        iter_num = 0
        for batch in train_loader:
            x, y = batch
            logits, self.loss = model(x, y)
            model.zero_grad(set_to_none=True)
            self.loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            self.optimizer.step()
            iter_num += 1
            if iter_num >= max_iters:
                break


if __name__ == "__main__":
    config = GPTConfig()
    model = GPT(config)
    trainer = Trainer(config, model, Digits(config))
    trainer.run()
