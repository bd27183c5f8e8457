"""The one operator set that every front door is brought to, and that `loops/lower` expands.

Each entry says what the operator computes and which attributes it carries. Attributes are plain Python values.
Shapes broadcast only in pointwise operators and in the batch dimensions of `matmul` (trailing dimensions align,
extents of 1 stretch). Dtypes do not: every input of an arithmetic operator has the node's dtype (comparisons: the
inputs agree; `where`: condition bool, branches agree); the normaliser inserts `cast`.
"""

from __future__ import annotations

#: one input → same shape
UNARY = (
    "neg", "abs", "sign", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal",
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "erf", "erfc", "sigmoid", "floor", "ceil", "round", "trunc", "not", "isnan", "isinf",
)  # fmt: skip
#: two inputs, broadcast. `floordiv` and `mod` round towards minus infinity (Python), `truncdiv` and `fmod` towards
#: zero.
BINARY = (
    "add", "sub", "mul", "div", "floordiv", "truncdiv", "mod", "fmod", "pow", "atan2", "maximum", "minimum",
    "and", "or", "xor", "shl", "shr", "copysign",
)  # fmt: skip
#: two inputs of one dtype, broadcast, result bool
COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")
#: activations kept whole so that rules can see them; each is a pointwise expression
ACTIVATIONS = {
    "relu": "max(x, 0), NaN stays NaN",
    "gelu": "x·Φ(x); approximate='none' (erf) or 'tanh'",
    "silu": "x·sigmoid(x)",
    "hardswish": "x·clamp(x+3, 0, 6)/6",
    "hardsigmoid": "clamp(x+3, 0, 6)/6",
    "softplus": "log(1+exp(beta·x))/beta, x where beta·x > threshold; attrs beta, threshold",
    "mish": "x·tanh(softplus(x))",
    "elu": "x > 0 ? scale·x : scale·alpha·expm1(input_scale·x); attrs alpha, scale, input_scale",
    "leaky_relu": "x > 0 ? x : slope·x; attrs slope",
}

OTHER = {
    # leaves
    "input": "the index-th tensor argument; attrs index",
    "param": "a parameter or buffer; attrs key (its state-dict name)",
    "constant": "a tensor that tracing lifted; attrs values (nested tuples or a flat tuple), at most 4096 elements, "
                "else a param",
    "full": "every element equals attrs value",
    "arange": "1-d: start + step·i; attrs start, step",
    # pointwise with more inputs
    "where": "condition ? a : b, broadcast",
    "cast": "convert to the node's dtype (float→int truncates and never is undefined; →bool means ≠ 0)",
    # views: nothing moves, an index map says where an element lives
    "reshape": "same elements in row-major order, the node's shape",
    "permute": "dimension i of the result is dimension attrs dims[i] of the input; attrs image (may be missing) says "
               "that the caller keeps an image channels last: its input, or its result",
    "expand": "broadcast to the node's shape (aligned at the end)",
    "slice": "attrs dim, start (≥ 0), step (> 0); the extent is the node's",
    "select": "attrs dim, index (≥ 0): one slice, dimension removed",
    "flip": "attrs dims",
    "diagonal": "attrs offset, dim1, dim2: the diagonal becomes the last dimension",
    "unfold": "attrs dim, size, step: windows of a dimension become a new last dimension",
    # putting together
    "cat": "along attrs dim",
    "pad": "attrs pads ((before, after) per dimension, may be negative), mode "
           "('constant'|'reflect'|'replicate'|'circular'), value",
    # indexing by data. Indices may be negative; out of range raises IndexError
    "index": "inputs (x, i0, i1, …): attrs dims says which dimension of x each index tensor indexes (dims are "
             "adjacent; the broadcast index shape replaces them in place)",
    "gather": "inputs (x, index): x read at index along attrs dim",
    "embedding": "inputs (weight, index): rows of weight",
    "walk_trees": "inputs (x[R,F], nodes[N,·], whole numbers as wide as x): the node at which each row's way down each "
                  "tree ends, i32[R,trees]; attrs trees (root t is node t), steps (of the longest way), bits, between. "
                  "A node is (limit, (place of the first of two below)·2^bits + feature), or has feature and place "
                  "apart where bits is 0, then a least rank if between. rank is the whole number that is ordered as "
                  "x[·,feature]; where least ≤ rank < limit (taken without signs) the way goes to the second. An end "
                  "leads to itself, with the limit 0. Features and places are not checked",
    "index_put": "inputs (x, value, i0, …): attrs dims, accumulate; a copy of x with elements written in order",
    "scatter": "inputs (x, index, src): attrs dim, reduce (None|'add'|'mul'|'amax'|'amin', include_self=True); in "
               "order",
    # reductions over attrs dims, attrs keepdim
    "sum": "over attrs dims, keepdim", "prod": "over attrs dims, keepdim", "mean": "over attrs dims, keepdim",
    "amax": "over attrs dims, keepdim; NaN wins", "amin": "over attrs dims, keepdim; NaN wins",
    "any": "over attrs dims, keepdim → bool", "all": "over attrs dims, keepdim → bool",
    "argmax": "first maximum (NaN counts as largest) along dim (None: flattened) → i64; attrs dim, keepdim",
    "argmin": "first minimum (NaN counts as smallest); attrs dim, keepdim",
    "var": "attrs dims, correction, keepdim",
    "cumsum": "along attrs dim", "cumprod": "along attrs dim",
    # rows
    "softmax": "along attrs dim", "log_softmax": "along attrs dim",
    "layer_norm": "inputs (x[, weight[, bias]]): over the last attrs axes dimensions; attrs axes (a count), eps, "
                  "has_weight, has_bias",
    "rms_norm": "inputs (x[, weight]): attrs axes (a count), eps, has_weight, offset (0.0, or 1.0 for Gemma's 1 + "
                "weight)",
    "group_norm": "inputs (x[, weight[, bias]]): attrs groups, eps, has_weight, has_bias; instance norm has groups = "
                  "channels",
    "batch_norm": "inference: inputs (x, mean, var[, weight[, bias]]): attrs eps, has_weight, has_bias; dimension 1 is "
                  "channels",
    # contractions
    "linear": "inputs (x[…,K], weight[N,K][, bias[N]])",
    "byte_linear": "as linear without bias, on i32 that hold four bytes each, unsigned ones in x and signed ones in "
                   "weight: the sum of the products of bytes",
    "matmul": "inputs (a[…,M,K], b[…,K,N]), batch dimensions broadcast; both at least 2-d",
    "conv": "inputs (x[N,C,*space], weight[O,C/groups,*k][, bias]): attrs stride, padding ((before, after) per "
            "dimension), dilation, groups, transposed, output_padding (transposed: weight[C,O/groups,*k])",
    "conv_weight_grad": "inputs (x[N,C,*space], dy[N,O,*points]): the gradient of the weight[O,C/groups,*k] of a "
                        "conv from space to points; attrs kernel, stride, padding, dilation, groups. With the two "
                        "inputs exchanged, that of a transposed one",
    "byte_conv": "as conv without bias and groups, on such i32",
    "attention": "inputs (q[…,L,E], k[…,S,E], v[…,S,Ev][, mask]): attrs scale, causal; mask is bool (True: attend) or "
                 "added; k and v may have fewer heads (dimension -3), each shared by an equal group of q's heads "
                 "(attrs gqa)",
    "attention_forward": "as attention with as many heads in k and v as in q; results (out, the logarithm of the sum "
                         "of each row's exponentials [...,L]); 0 where a row attends to nothing",
    "attention_backward": "inputs (dout, q, k, v, out, logsumexp[, mask]), the last three as attention_forward has "
                          "them: attrs scale, causal; results (dq, dk, dv)",
    "linear_cross_entropy": "inputs (x[R,K], weight[N,K], labels[R][, bias[N]]): the cross-entropy of the rows of "
                            "linear(x, weight, bias), whose logits exist `rows` rows at a time; attrs mean (or sum) "
                            "over the rows whose label is not ignore_index, rows, gradients (of 'x', 'weight', 'bias');"
                            " results (loss, the number of those rows, the logarithm of the sum of each row's "
                            "exponentials [R], the gradients)",
    "linear_cross_entropy_backward": "inputs (x, weight, labels, logarithms of linear_cross_entropy, scale[][, bias]): "
                                     "attrs ignore_index, rows, gradients; results: these, of the sum over rows times "
                                     "the scale",
    "lstm": "inputs (x, h0, c0, then per layer and direction w_ih, w_hh[, b_ih, b_hh]): attrs layers, bidirectional, "
            "batch_first, has_bias; results (out, h, c)",
    "byte_lstm": "inputs (x[T,B,4H], h0[B,H], c0[B,H], weight i32[4H,H/4], sums i32[4H], scale f32[4H]): the input's "
                 "part of the gates (input, output, forget, cell), plus the state, rounded to bytes at every step, "
                 "times a weight of packed bytes with these sums and scales; attrs backwards; results (out, h, c)",
    "gru": "as lstm without c0; results (out, h)",
    "rnn": "as gru; attrs nonlinearity 'tanh'|'relu'",
    "recurrence": "one direction of one recurrent layer in training: inputs (x[T,B,G·H], h0[B,H][, c0 of an LSTM], "
                  "weight[G·H,H][, bias of a GRU]), x being the input's part of the gates; attrs cell "
                  "'lstm'|'gru'|'tanh'|'relu', backwards; results (states[T+1,B,H][, cells of an LSTM][, gates of LSTM "
                  "and GRU [T,B,4·H]])",
    "recurrence_backward": "inputs (gradients of the states [T,B,H][, of an LSTM's last cell], results of recurrence, "
                           "weight), the same attrs; results (d_x, d_h0[, d_c0][, for a GRU the gradients of what the "
                           "state adds to its gates])",
    # windows
    "max_pool": "attrs kernel, stride, padding (before, after per dimension), dilation; NaN wins; the extent is the "
                "node's",
    "max_pool_indices": "inputs (x, max_pool of it), its attrs: where in its channel of x each maximum is, i64; the "
                        "first of several",
    "max_pool_backward": "inputs (dy, max_pool_indices), the same attrs: the gradient of x, whose type is the node's",
    "avg_pool": "attrs kernel, stride, padding, count_include_pad, divisor (or None)",
    "adaptive_avg_pool": "window i covers ⌊i·I/O⌋ … ⌈(i+1)·I/O⌉ per space dimension",
    "adaptive_max_pool": "the same windows",
    "upsample_nearest": "attrs scales (per space dimension, input/output ratio as float), exact (half-pixel centres)",
    "upsample_linear": "bilinear/linear/trilinear: attrs align_corners, scales (input/output ratio per dimension)",
    "grid_sample": "inputs (x[N,C,H,W], grid[N,h,w,2]): x at places that the grid gives as (column, row) from -1 to 1; "
                   "attrs mode ('bilinear'|'nearest'), padding ('zeros'|'border'), align_corners",
    # everything else
    "item": "result attrs index of a node with several",
    "aten": "a library node: calls attrs target ('aten.sort.default') with attrs args and kwargs, plain values in "
            "which ('%', i) stands for input i; results are fresh contiguous tensors; attrs why is the reason",
}  # fmt: skip

POINTWISE = frozenset((*UNARY, *BINARY, *COMPARE, *ACTIVATIONS, "where", "cast"))
VIEWS = frozenset(("reshape", "permute", "expand", "slice", "select", "flip", "diagonal", "unfold"))
#: operators that compute nothing with the elements that they pass on: bytes go through them natively, too
MOVING = VIEWS | frozenset(
    ("cast", "where", "full", "constant", "cat", "pad", "index", "gather", "embedding", "upsample_nearest")
)
ALL = frozenset((*POINTWISE, *OTHER))
#: operators that extensions add: what each computes
ADDED: dict[str, str] = {}


def is_operator(name: str) -> bool:
    """Whether it is in the operator set, or was added to it."""
    return name in ALL or name in ADDED
