from .inner import SCALE, make_net as net
