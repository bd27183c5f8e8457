# Two methods that call each other, and one that does not.
# Parser.expr: tensor recursive computes -> no (recursive)
# Parser.term: tensor recursive ~computes -> no (recursive)
# Parser.leaf: tensor computes -> to_graph
import tensorflow as tf
class Parser:
    def expr(self, x):
        if len(x.shape) == 0:
            return self.leaf(x)
        return self.term(x[0]) + 1.0
    def term(self, x):
        return self.expr(x)
    def leaf(self, x):
        return x * 2.0
p = Parser()
p.expr(tf.ones([2, 2]))
p.leaf(tf.ones([1]))
