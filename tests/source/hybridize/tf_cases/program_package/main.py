# A small package as people write it: models, data, losses, training; the script is beside it.
#
# main: effects ~computes -> no
from project.data import load
from project.models import build
from project.training import Trainer


def main():
    trainer = Trainer(build("small"), rate=0.01)
    history = trainer.fit(load(8, batch=4), epochs=2)
    print(len(history))


if __name__ == "__main__":
    main()
