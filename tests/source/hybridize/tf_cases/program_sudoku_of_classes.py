# Mixins, properties, class registries and a metaclass-free plugin system.
#
# Plugin.__init_subclass__: effects ~tensor ~primitive -> no?
# Named.label: -> no
# Relu.apply: tensor computes -> to_graph
# Tanh.apply: tensor computes -> to_graph
# Stack.__init__: ~effects ~primitive -> ~
# Stack.apply: tensor computes -> to_graph
import tensorflow as tf


class Named:
    @property
    def label(self):
        return type(self).__name__.lower()


class Plugin(Named):
    registry = {}

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        Plugin.registry[cls.__name__.lower()] = cls


class Relu(Plugin):
    def apply(self, x):
        return tf.nn.relu(x)


class Tanh(Plugin):
    def apply(self, x):
        return tf.tanh(x)


class Stack:
    def __init__(self, *plugins):
        self.plugins = plugins

    def apply(self, x):
        for plugin in self.plugins:
            x = plugin.apply(x)
        return x


Stack(Relu(), Tanh()).apply(tf.constant([-1.0, 1.0]))
print(Relu().label)
