# Keras callbacks and fit: Python on the outside, no graphs of ours.
#
# History.on_epoch_end: ~tensor ~primitive effects ~computes -> no?
# build_model: primitive -> no
# schedule: ~tensor ~primitive -> no?
# main: effects ~computes -> no
import tensorflow as tf


class History(tf.keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.losses = []

    def on_epoch_end(self, epoch, logs=None):
        self.losses.append((logs or {}).get("loss"))
        print("done with", epoch)


def build_model(units):
    return tf.keras.Sequential([tf.keras.layers.Dense(units, activation="relu"), tf.keras.layers.Dense(1)])


def schedule(epoch, lr):
    return lr * 0.5 if epoch > 0 else lr


def main():
    model = build_model(4)
    model.compile(optimizer="sgd", loss="mse")
    history = History()
    model.fit(
        tf.ones([4, 2]),
        tf.ones([4, 1]),
        epochs=2,
        verbose=0,
        callbacks=[history, tf.keras.callbacks.LearningRateScheduler(schedule)],
    )
    print(len(history.losses))


if __name__ == "__main__":
    main()
