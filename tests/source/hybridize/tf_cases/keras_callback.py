# A callback writes its own history.
# History.__init__: ~effects -> ~
# History.on_epoch_end: ~tensor ~primitive effects ~computes -> no?
import tensorflow as tf
class History(tf.keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.losses = []
    def on_epoch_end(self, epoch, logs=None):
        self.losses.append((logs or {}).get("loss"))
model = tf.keras.Sequential([tf.keras.Input((1,)), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(tf.ones([2, 1]), tf.ones([2, 1]), callbacks=[History()], verbose=0)
