# A character model: embedding, GRU, sampling loop.
#
# CharModel.__init__: ~effects ~primitive -> ~
# CharModel.call: tensor computes -> to_graph
# split_input_target: tensor computes -> ~
# loss: tensor computes -> to_graph
# generate: ~effects ~primitive computes -> ~
import tensorflow as tf

text = "hello world, this is a small text for a small model"
vocab = sorted(set(text))
ids_from_chars = {c: i for i, c in enumerate(vocab)}


class CharModel(tf.keras.Model):
    def __init__(self, vocab_size, embedding_dim, rnn_units):
        super().__init__()
        self.embedding = tf.keras.layers.Embedding(vocab_size, embedding_dim)
        self.gru = tf.keras.layers.GRU(rnn_units, return_sequences=True, return_state=True)
        self.dense = tf.keras.layers.Dense(vocab_size)

    def call(self, inputs, states=None, return_state=False, training=False):
        x = self.embedding(inputs, training=training)
        x, states = self.gru(x, initial_state=states, training=training)
        x = self.dense(x, training=training)
        if return_state:
            return x, states
        return x


def split_input_target(sequence):
    return sequence[:-1], sequence[1:]


def loss(labels, logits):
    return tf.reduce_mean(tf.keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True))


def generate(model, start, length):
    ids = [ids_from_chars[c] for c in start]
    states = None
    for _ in range(length):
        logits, states = model(tf.constant([ids[-1:]]), states=states, return_state=True)
        ids.append(int(tf.argmax(logits[0, -1])))
    return "".join(vocab[i] for i in ids)


ids = tf.constant([ids_from_chars[c] for c in text])
sequences = tf.data.Dataset.from_tensor_slices(ids).batch(9, drop_remainder=True)
dataset = sequences.map(split_input_target).batch(2, drop_remainder=True)
model = CharModel(len(vocab), 4, 8)
for inputs, target in dataset.take(1):
    loss(target, model(inputs))
generate(model, "he", 2)
