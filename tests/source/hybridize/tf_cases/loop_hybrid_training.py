# The step is hybrid; its signature can be inferred from the dataset or not.
#
# train_step: hybrid tensor computes -> add_signature|keep
import tensorflow as tf

w = tf.Variable(1.0)


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = w * x
    w.assign_sub(0.1 * tape.gradient(loss, w))
    return loss


for x in tf.data.Dataset.from_tensor_slices([1.0, 2.0]):
    train_step(x)
