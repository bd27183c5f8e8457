# The first program of every tutorial.
#
# LinearModel.__init__: ~effects ~computes -> ~
# LinearModel.__call__: tensor computes -> to_graph
# loss: tensor computes -> to_graph
# train: tensor primitive computes -> no (primitive_parameter)
import tensorflow as tf

TRUE_W, TRUE_B, NUM = 3.0, 2.0, 20


class LinearModel:
    def __init__(self):
        self.W = tf.Variable(5.0)
        self.b = tf.Variable(0.0)

    def __call__(self, x):
        return self.W * x + self.b


def loss(target_y, predicted_y):
    return tf.reduce_mean(tf.square(target_y - predicted_y))


def train(model, inputs, outputs, learning_rate):
    with tf.GradientTape() as t:
        current_loss = loss(outputs, model(inputs))
    dW, db = t.gradient(current_loss, [model.W, model.b])
    model.W.assign_sub(learning_rate * dW)
    model.b.assign_sub(learning_rate * db)


inputs = tf.linspace(-1.0, 1.0, NUM)
outputs = inputs * TRUE_W + TRUE_B
model = LinearModel()
Ws, bs = [], []
for epoch in range(3):
    Ws.append(model.W.numpy())
    bs.append(model.b.numpy())
    current = loss(outputs, model(inputs))
    train(model, inputs, outputs, learning_rate=0.1)
    print("Epoch %2d: W=%1.2f" % (epoch, Ws[-1]))
