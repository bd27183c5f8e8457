# Text in Python, embedding in TensorFlow.
#
# Tokenizer.__init__: ~effects ~primitive -> ~
# Tokenizer.fit: effects ~primitive -> no
# Tokenizer.encode: ~primitive ~effects -> no
# pad: ~primitive ~tensor computes -> ~
# embed: tensor computes -> to_graph
# similarity: tensor computes -> to_graph
import re

import tensorflow as tf


class Tokenizer:
    def __init__(self, lower=True):
        self.lower = lower
        self.index = {"<pad>": 0}

    def fit(self, texts):
        for text in texts:
            for word in re.findall(r"\w+", text.lower() if self.lower else text):
                self.index.setdefault(word, len(self.index))
        return self

    def encode(self, text):
        return [self.index.get(w, 0) for w in re.findall(r"\w+", text.lower())]


def pad(rows):
    width = max(len(r) for r in rows)
    return tf.constant([r + [0] * (width - len(r)) for r in rows])


table = tf.Variable(tf.reshape(tf.range(40.0), [10, 4]))


def embed(ids):
    vectors = tf.nn.embedding_lookup(table, ids)
    mask = tf.cast(ids > 0, tf.float32)[..., None]
    return tf.reduce_sum(vectors * mask, axis=1) / tf.maximum(tf.reduce_sum(mask, axis=1), 1.0)


def similarity(a, b):
    return tf.reduce_sum(tf.nn.l2_normalize(a, -1) * tf.nn.l2_normalize(b, -1), -1)


texts = ["the cat sat", "a dog ran far"]
tokenizer = Tokenizer().fit(texts)
vectors = embed(pad([tokenizer.encode(t) for t in texts]))
similarity(vectors[0], vectors[1])
