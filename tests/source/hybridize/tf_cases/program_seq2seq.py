# An encoder and a decoder with attention, teacher forcing in a Python loop.
#
# Encoder.call: tensor computes -> to_graph
# Encoder.initialize_hidden_state: computes -> no
# Attention.call: tensor computes -> to_graph
# Decoder.call: tensor computes -> to_graph
# loss_function: tensor computes -> to_graph
# train_step: tensor computes -> to_graph
import tensorflow as tf

UNITS, VOCAB, BATCH = 4, 6, 2


class Encoder(tf.keras.Model):
    def __init__(self):
        super(Encoder, self).__init__()
        self.embedding = tf.keras.layers.Embedding(VOCAB, UNITS)
        self.gru = tf.keras.layers.GRU(UNITS, return_sequences=True, return_state=True)

    def call(self, x, hidden):
        x = self.embedding(x)
        output, state = self.gru(x, initial_state=hidden)
        return output, state

    def initialize_hidden_state(self):
        return tf.zeros((BATCH, UNITS))


class Attention(tf.keras.layers.Layer):
    def __init__(self):
        super(Attention, self).__init__()
        self.W1 = tf.keras.layers.Dense(UNITS)
        self.W2 = tf.keras.layers.Dense(UNITS)
        self.V = tf.keras.layers.Dense(1)

    def call(self, query, values):
        score = self.V(tf.nn.tanh(self.W1(tf.expand_dims(query, 1)) + self.W2(values)))
        weights = tf.nn.softmax(score, axis=1)
        return tf.reduce_sum(weights * values, axis=1), weights


class Decoder(tf.keras.Model):
    def __init__(self):
        super(Decoder, self).__init__()
        self.embedding = tf.keras.layers.Embedding(VOCAB, UNITS)
        self.gru = tf.keras.layers.GRU(UNITS, return_sequences=True, return_state=True)
        self.fc = tf.keras.layers.Dense(VOCAB)
        self.attention = Attention()

    def call(self, x, hidden, enc_output):
        context, weights = self.attention(hidden, enc_output)
        x = tf.concat([tf.expand_dims(context, 1), self.embedding(x)], axis=-1)
        output, state = self.gru(x)
        return self.fc(tf.reshape(output, (-1, UNITS))), state, weights


encoder, decoder = Encoder(), Decoder()
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")


def loss_function(real, pred):
    mask = tf.cast(tf.math.logical_not(tf.math.equal(real, 0)), tf.float32)
    return tf.reduce_mean(loss_object(real, pred) * mask)


def train_step(inp, targ, enc_hidden):
    loss = tf.constant(0.0)
    with tf.GradientTape() as tape:
        enc_output, enc_hidden = encoder(inp, enc_hidden)
        dec_hidden = enc_hidden
        dec_input = tf.expand_dims(targ[:, 0], 1)
        for t in range(1, targ.shape[1]):
            predictions, dec_hidden, _ = decoder(dec_input, dec_hidden, enc_output)
            loss += loss_function(targ[:, t], predictions)
            dec_input = tf.expand_dims(targ[:, t], 1)
    variables = encoder.trainable_variables + decoder.trainable_variables
    return loss, tape.gradient(loss, variables)


dataset = tf.data.Dataset.from_tensor_slices((tf.ones([4, 3], tf.int32), tf.ones([4, 3], tf.int32)))
dataset = dataset.batch(BATCH, drop_remainder=True)
for epoch in range(1):
    hidden = encoder.initialize_hidden_state()
    for batch, (inp, targ) in enumerate(dataset.take(1)):
        batch_loss, _ = train_step(inp, targ, hidden)
