# An encoder layer of a transformer out of functions and layers.
#
# scaled_dot_product_attention: tensor computes -> to_graph
# MultiHeadAttention.__init__: ~effects ~primitive -> ~
# MultiHeadAttention.split_heads: tensor computes -> to_graph
# MultiHeadAttention.call: tensor computes -> to_graph
# point_wise_feed_forward_network: primitive -> no
# EncoderLayer.call: tensor computes -> to_graph
# positional_encoding: primitive computes -> no
import numpy as np
import tensorflow as tf


def scaled_dot_product_attention(q, k, v, mask):
    matmul_qk = tf.matmul(q, k, transpose_b=True)
    dk = tf.cast(tf.shape(k)[-1], tf.float32)
    logits = matmul_qk / tf.math.sqrt(dk)
    if mask is not None:
        logits += mask * -1e9
    weights = tf.nn.softmax(logits, axis=-1)
    return tf.matmul(weights, v), weights


class MultiHeadAttention(tf.keras.layers.Layer):
    def __init__(self, d_model, num_heads):
        super(MultiHeadAttention, self).__init__()
        self.num_heads = num_heads
        self.d_model = d_model
        self.depth = d_model // num_heads
        self.wq = tf.keras.layers.Dense(d_model)
        self.wk = tf.keras.layers.Dense(d_model)
        self.wv = tf.keras.layers.Dense(d_model)
        self.dense = tf.keras.layers.Dense(d_model)

    def split_heads(self, x, batch_size):
        x = tf.reshape(x, (batch_size, -1, self.num_heads, self.depth))
        return tf.transpose(x, perm=[0, 2, 1, 3])

    def call(self, v, k, q, mask=None):
        batch_size = tf.shape(q)[0]
        q = self.split_heads(self.wq(q), batch_size)
        k = self.split_heads(self.wk(k), batch_size)
        v = self.split_heads(self.wv(v), batch_size)
        attention, _ = scaled_dot_product_attention(q, k, v, mask)
        attention = tf.transpose(attention, perm=[0, 2, 1, 3])
        return self.dense(tf.reshape(attention, (batch_size, -1, self.d_model)))


def point_wise_feed_forward_network(d_model, dff):
    return tf.keras.Sequential([tf.keras.layers.Dense(dff, activation="relu"), tf.keras.layers.Dense(d_model)])


class EncoderLayer(tf.keras.layers.Layer):
    def __init__(self, d_model, num_heads, dff, rate=0.1):
        super(EncoderLayer, self).__init__()
        self.mha = MultiHeadAttention(d_model, num_heads)
        self.ffn = point_wise_feed_forward_network(d_model, dff)
        self.layernorm1 = tf.keras.layers.LayerNormalization(epsilon=1e-6)
        self.layernorm2 = tf.keras.layers.LayerNormalization(epsilon=1e-6)
        self.dropout1 = tf.keras.layers.Dropout(rate)

    def call(self, x, training=False, mask=None):
        attn_output = self.dropout1(self.mha(x, x, x, mask), training=training)
        out1 = self.layernorm1(x + attn_output)
        return self.layernorm2(out1 + self.ffn(out1))


def positional_encoding(position, d_model):
    angles = np.arange(position)[:, None] / np.power(10000, np.arange(d_model)[None, :] / d_model)
    return tf.cast(np.sin(angles)[None], tf.float32)


x = tf.random.uniform((2, 5, 8)) + positional_encoding(5, 8)
layer = EncoderLayer(8, 2, 16)
layer(x, training=False)
layer(x, training=True)
