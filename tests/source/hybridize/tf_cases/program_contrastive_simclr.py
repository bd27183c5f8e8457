# SimCLR: augmentations, a projection head, NT-Xent.
#
# random_crop: tensor computes -> to_graph
# jitter: tensor computes -> to_graph
# augment: tensor computes -> to_graph
# nt_xent: tensor computes -> to_graph
# SimCLR.call: tensor computes -> to_graph
# train_step: tensor computes -> to_graph
import tensorflow as tf


def random_crop(images):
    return tf.image.resize(images[:, 1:-1, 1:-1, :], [6, 6])


def jitter(images, strength=0.1):
    return tf.clip_by_value(images + tf.random.uniform(tf.shape(images), -strength, strength), 0.0, 1.0)


def augment(images):
    return jitter(random_crop(images))


def nt_xent(a, b, temperature=0.5):
    a, b = tf.math.l2_normalize(a, 1), tf.math.l2_normalize(b, 1)
    logits = tf.matmul(a, b, transpose_b=True) / temperature
    labels = tf.range(tf.shape(a)[0])
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


class SimCLR(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.flat = tf.keras.layers.Flatten()
        self.project = tf.keras.layers.Dense(4)

    def call(self, images):
        return self.project(self.flat(images))


model = SimCLR()
optimizer = tf.keras.optimizers.SGD(0.1)


def train_step(images):
    with tf.GradientTape() as tape:
        loss = nt_xent(model(augment(images)), model(augment(images)))
    return loss, tape.gradient(loss, model.trainable_variables)


for images in tf.data.Dataset.from_tensor_slices(tf.ones([4, 6, 6, 1]) * 0.5).batch(2):
    train_step(images)
