# Style transfer: Gram matrices, a feature extractor, clipping.
#
# gram_matrix: tensor computes -> to_graph
# StyleModel.__init__: ~effects ~primitive -> ~
# StyleModel.call: tensor computes -> to_graph
# clip_0_1: tensor computes -> to_graph
# style_loss: tensor computes -> to_graph
# step: tensor computes -> to_graph
import tensorflow as tf


def gram_matrix(t):
    result = tf.linalg.einsum("bijc,bijd->bcd", t, t)
    shape = tf.shape(t)
    return result / tf.cast(shape[1] * shape[2], tf.float32)


class StyleModel(tf.keras.models.Model):
    def __init__(self, names):
        super().__init__()
        self.convs = [tf.keras.layers.Conv2D(2, 3, padding="same", name=n) for n in names]
        self.names = names

    def call(self, inputs):
        x, out = inputs * 255.0, {}
        for name, conv in zip(self.names, self.convs):
            x = conv(x)
            out[name] = gram_matrix(x)
        return out


def clip_0_1(image):
    return tf.clip_by_value(image, clip_value_min=0.0, clip_value_max=1.0)


def style_loss(outputs, targets):
    return tf.add_n([tf.reduce_mean((outputs[n] - targets[n]) ** 2) for n in outputs.keys()])


extractor = StyleModel(["a", "b"])
targets = extractor(tf.ones([1, 4, 4, 3]))


def step(image):
    with tf.GradientTape() as tape:
        loss = style_loss(extractor(image), targets)
    grad = tape.gradient(loss, image)
    image.assign(clip_0_1(image - 1e-9 * grad))
    return loss


image = tf.Variable(tf.zeros([1, 4, 4, 3]))
for n in range(2):
    step(image)
    print(".", end="", flush=True)
