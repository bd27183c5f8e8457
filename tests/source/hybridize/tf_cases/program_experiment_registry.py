# A registry of models filled by a decorator.
#
# register: primitive -> no
# register.add: effects -> no
# mlp: primitive -> no
# linear: ~tensor ~primitive -> no?
# create: primitive ~effects -> no
# logits: tensor computes -> to_graph
import tensorflow as tf

MODELS = {}


def register(name):
    def add(fn):
        MODELS[name] = fn
        return fn

    return add


@register("mlp")
def mlp(classes):
    return tf.keras.Sequential([tf.keras.layers.Dense(4, activation="relu"), tf.keras.layers.Dense(classes)])


@register("linear")
def linear(classes):
    return tf.keras.Sequential([tf.keras.layers.Dense(classes)])


def create(name, classes=2):
    if name not in MODELS:
        raise KeyError(name)
    return MODELS[name](classes)


model = create("mlp", classes=3)


def logits(x):
    return model(x, training=False)


logits(tf.ones([1, 2]))
