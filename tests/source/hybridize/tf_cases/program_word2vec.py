# Skip-gram with negative sampling; sampling in Python, training in TensorFlow.
#
# skip_grams: ~primitive ~tensor -> no
# Word2Vec.__init__: ~effects ~primitive -> ~
# Word2Vec.call: tensor computes -> to_graph
# batches: ~primitive computes -> no
# loss_fn: tensor computes -> to_graph
import tensorflow as tf


def skip_grams(ids, window):
    pairs = []
    for i, target in enumerate(ids):
        for j in range(max(0, i - window), min(len(ids), i + window + 1)):
            if i != j:
                pairs.append((target, ids[j]))
    return pairs


class Word2Vec(tf.keras.Model):
    def __init__(self, vocab_size, dim):
        super().__init__()
        self.target = tf.keras.layers.Embedding(vocab_size, dim)
        self.context = tf.keras.layers.Embedding(vocab_size, dim)

    def call(self, pair):
        target, context = pair
        return tf.einsum("be,be->b", self.target(target), self.context(context))


def batches(pairs, size=2):
    for start in range(0, len(pairs), size):
        chunk = pairs[start : start + size]
        yield tf.constant([p[0] for p in chunk]), tf.constant([p[1] for p in chunk])


def loss_fn(logits):
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.ones_like(logits), logits=logits))


model = Word2Vec(6, 3)
for target, context in batches(skip_grams([1, 2, 3, 4], 1)):
    loss_fn(model((target, context)))
