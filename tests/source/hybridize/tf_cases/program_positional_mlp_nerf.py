# A small NeRF: encoding, rendering, a step.
#
# encode: tensor computes -> to_graph
# render: tensor computes -> to_graph
# Field.__init__: ~effects ~primitive -> ~
# Field.call: tensor computes -> to_graph
# psnr: tensor computes -> to_graph
# step: tensor computes -> to_graph
import tensorflow as tf

L = 2


def encode(x):
    rets = [x]
    for i in range(L):
        for fn in [tf.sin, tf.cos]:
            rets.append(fn(2.0**i * x))
    return tf.concat(rets, -1)


class Field(tf.keras.Model):
    def __init__(self, width=4):
        super().__init__()
        self.hidden = tf.keras.layers.Dense(width, activation="relu")
        self.out = tf.keras.layers.Dense(4)

    def call(self, pts):
        return self.out(self.hidden(encode(pts)))


def render(raw, z_vals):
    sigma = tf.nn.relu(raw[..., 3])
    rgb = tf.math.sigmoid(raw[..., :3])
    dists = tf.concat([z_vals[..., 1:] - z_vals[..., :-1], tf.fill(z_vals[..., :1].shape, 1e10)], -1)
    alpha = 1.0 - tf.exp(-sigma * dists)
    weights = alpha * tf.math.cumprod(1.0 - alpha + 1e-10, -1, exclusive=True)
    return tf.reduce_sum(weights[..., None] * rgb, -2)


def psnr(a, b):
    return -10.0 * tf.math.log(tf.reduce_mean(tf.square(a - b))) / tf.math.log(10.0)


field = Field()


def step(points, z_vals, target):
    with tf.GradientTape() as tape:
        rgb = render(field(points), z_vals)
        loss = tf.reduce_mean(tf.square(rgb - target))
    return loss, tape.gradient(loss, field.trainable_variables)


pts = tf.random.uniform([2, 5, 3])
z = tf.tile(tf.linspace(0.0, 1.0, 5)[None], [2, 1])
step(pts, z, tf.ones([2, 3]))
psnr(tf.ones([3]), tf.zeros([3]))
