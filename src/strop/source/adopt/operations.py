"""The operation table: which spellings mean the same operation, and what their arguments are called.

A line is `kind: inputs | attributes = spelling spelling …`. A bare spelling `f` stands for `torch.f(x, …)` and for the
method `x.f(…)`; `F.f` for `torch.nn.functional.f`; `.f` for the method alone; `torch.f` for the function alone. A
spelling may end in `_` (in place). Inputs are tensors; what follows the bar are the other arguments in their order.
"""

from __future__ import annotations

from dataclasses import dataclass

_TABLE = """
matmul: a b |                                = matmul bmm mm mv
softmax: x | dim dtype                       = softmax torch.special.softmax
softmax: x | dim _stacklevel dtype           = F.softmax
log_softmax: x | dim dtype                   = log_softmax torch.special.log_softmax
log_softmax: x | dim _stacklevel dtype       = F.log_softmax
add: a b |                                   = add add_
sub: a b |                                   = sub sub_ subtract
mul: a b |                                   = mul mul_ multiply
div: a b | rounding_mode                     = div div_ divide true_divide
neg: x |                                     = neg negative neg_
pow: x exponent |                            = pow pow_ float_power
square: x |                                  = square square_
sqrt: x |                                    = sqrt sqrt_
rsqrt: x |                                   = rsqrt rsqrt_
reciprocal: x |                              = reciprocal reciprocal_
exp: x |                                     = exp exp_
log: x |                                     = log log_
erf: x |                                     = erf torch.special.erf erf_
tanh: x |                                    = tanh F.tanh tanh_
sigmoid: x |                                 = sigmoid F.sigmoid torch.special.expit sigmoid_
abs: x |                                     = abs absolute
cos: x |                                     = cos
sin: x |                                     = sin
relu: x |                                    = relu relu_
relu: x | inplace                            = F.relu
relu6: x | inplace                           = F.relu6
gelu: x | approximate                        = F.gelu
silu: x | inplace                            = F.silu F.swish
mish: x | inplace                            = F.mish
softplus: x | beta threshold                 = F.softplus
elu: x | alpha inplace                       = F.elu
leaky_relu: x | negative_slope inplace       = F.leaky_relu
hardswish: x | inplace                       = F.hardswish
hardsigmoid: x | inplace                     = F.hardsigmoid
mean: x | dim keepdim dtype                  = mean
sum: x | dim keepdim dtype                   = sum
amax: x | dim keepdim                        = amax
max: x | dim keepdim                         = max
min: x | dim keepdim                         = min
argmax: x | dim keepdim                      = argmax
maximum: a b |                               = maximum
minimum: a b |                               = minimum
nan_to_num: x | nan                          = nan_to_num
clamp: x | min max                           = clamp clip clamp_ clip_
var: x | dim unbiased keepdim correction     = var
std: x | dim unbiased keepdim correction     = std
norm: x | p dim keepdim                      = norm
norm: x | ord dim keepdim dtype              = torch.linalg.norm torch.linalg.vector_norm
normalize: x | p dim eps                     = F.normalize
logsumexp: x | dim keepdim                   = logsumexp
cumsum: x | dim                              = cumsum
masked_fill: x mask value |                  = masked_fill masked_fill_
where: mask a b |                            = torch.where
tril: x | diagonal                           = tril tril_
triu: x | diagonal                           = triu triu_
gather: x | dim index                        = gather
transpose: x | dim0 dim1                     = transpose swapaxes swapdims transpose_
transpose2: x |                              = t
permute: x | *dims                           = .permute
permute: x | dims                            = torch.permute
view: x | *shape                             = .view .reshape .view_as .reshape_as
view: x | shape                              = torch.reshape
flatten: x | start_dim end_dim               = flatten
unflatten: x | dim sizes                     = unflatten
squeeze: x | dim                             = squeeze squeeze_
unsqueeze: x | dim                           = unsqueeze unsqueeze_
expand: x | *shape                           = .expand .expand_as torch.broadcast_to .broadcast_to
repeat: x | *shape                           = .repeat torch.tile .tile
repeat_interleave: x | repeats dim           = repeat_interleave
roll: x | shifts dims                        = roll
contiguous: x | memory_format                = .contiguous
clone: x |                                   = clone
detach: x |                                  = detach
cat: *x | dim                                = torch.cat torch.concat torch.concatenate torch.hstack
stack: *x | dim                              = torch.stack
chunk: x | n dim                             = chunk
split: x | n dim                             = split torch.split_with_sizes tensor_split
unbind: x | dim                              = unbind
narrow: x | dim start length                 = .narrow torch.narrow
cast: x | dtype                              = .to .type_as .type .float .half .double .bfloat16 .cuda .cpu
cast: x | dtype                              = .int .long .bool
dropout: x | p training inplace              = F.dropout
dropout: x | p train                         = torch.dropout
linear: x weight bias |                      = F.linear
embedding: index weight | padding_idx        = F.embedding
layer_norm: x | normalized_shape weight bias eps  = F.layer_norm torch.layer_norm
rms_norm: x | normalized_shape weight eps    = F.rms_norm torch.rms_norm
group_norm: x | num_groups weight bias eps   = F.group_norm
batch_norm: x | running_mean running_var weight bias training momentum eps = F.batch_norm
conv1d: x | weight bias stride padding dilation groups = F.conv1d torch.conv1d
conv2d: x | weight bias stride padding dilation groups = F.conv2d torch.conv2d
conv3d: x | weight bias stride padding dilation groups = F.conv3d torch.conv3d
attention: q k v | attn_mask dropout_p is_causal scale enable_gqa = F.scaled_dot_product_attention
cross_entropy: x target | weight size_average ignore_index reduce reduction label_smoothing = F.cross_entropy
nll_loss: x target | weight size_average ignore_index reduce reduction = F.nll_loss
one_hot: x | num_classes                     = F.one_hot
pad: x | pad mode value                      = F.pad
zeros: | *shape                              = torch.zeros
ones: | *shape                               = torch.ones
empty: | *shape                              = torch.empty
full: | size fill_value                      = torch.full
arange: | start end step                     = torch.arange
complex: a b |                               = torch.complex torch.polar
view_as_complex: x |                         = torch.view_as_complex
view_as_real: x |                            = torch.view_as_real
backward: x |                                = .backward
"""

_LAYERS = """
linear: in_features out_features bias device dtype = Linear
conv1d: in_channels out_channels kernel_size stride padding dilation groups bias padding_mode = Conv1d
conv2d: in_channels out_channels kernel_size stride padding dilation groups bias padding_mode = Conv2d
conv3d: in_channels out_channels kernel_size stride padding dilation groups bias padding_mode = Conv3d
conv_transpose1d: in_channels out_channels kernel_size stride padding output_padding groups bias = ConvTranspose1d
conv_transpose2d: in_channels out_channels kernel_size stride padding output_padding groups bias = ConvTranspose2d
batch_norm1d: num_features eps momentum affine track_running_stats = BatchNorm1d
batch_norm2d: num_features eps momentum affine track_running_stats = BatchNorm2d
batch_norm3d: num_features eps momentum affine track_running_stats = BatchNorm3d
layer_norm: normalized_shape eps elementwise_affine bias = LayerNorm
rms_norm: normalized_shape eps elementwise_affine = RMSNorm
group_norm: num_groups num_channels eps affine = GroupNorm
embedding: num_embeddings embedding_dim padding_idx = Embedding
dropout: p inplace = Dropout
dropout2d: p inplace = Dropout2d
relu: inplace = ReLU
relu6: inplace = ReLU6
gelu: approximate = GELU
silu: inplace = SiLU
mish: inplace = Mish
tanh: = Tanh
sigmoid: = Sigmoid
elu: alpha inplace = ELU
leaky_relu: negative_slope inplace = LeakyReLU
hardswish: inplace = Hardswish
hardsigmoid: inplace = Hardsigmoid
softplus: beta threshold = Softplus
softmax: dim = Softmax
log_softmax: dim = LogSoftmax
identity: = Identity
cross_entropy_layer: weight size_average ignore_index reduce reduction label_smoothing = CrossEntropyLoss
multihead_attention: embed_dim num_heads dropout bias = MultiheadAttention
"""

#: Element-wise functions of one tensor that a network uses between its layers.
ACTIVATIONS = frozenset(
    [
        "relu",
        "relu6",
        "gelu",
        "silu",
        "mish",
        "tanh",
        "sigmoid",
        "elu",
        "leaky_relu",
        "hardswish",
        "hardsigmoid",
        "softplus",
        "activation",
    ]
)
#: Names that stand for several kinds in patterns.
_ELEMENTWISE = "add sub mul div neg tanh clamp masked_fill where maximum minimum dropout setitem tensor exp nan_to_num"
GROUPS: dict[str, frozenset[str]] = {
    "activation": ACTIVATIONS,
    "elementwise": frozenset(_ELEMENTWISE.split()),
    "steps": frozenset(f"{_ELEMENTWISE} cat slice index item transpose permute pad".split()),
    "conv": frozenset({"conv1d", "conv2d", "conv3d"}),
    "batch_norm": frozenset({"batch_norm1d", "batch_norm2d", "batch_norm3d", "batch_norm"}),
}
#: Operations on tensors that change neither values nor the order of the last dimension.
IDENTITIES = frozenset({"contiguous", "clone"})
#: Methods by which a dtype is named.
CASTS = {"float": "float32", "half": "float16", "double": "float64", "bfloat16": "bfloat16"}
#: Attributes that make a scalar of a tensor.
SIZES = frozenset({"shape", "ndim", "dtype", "device", "is_cuda", "requires_grad", "layout", "itemsize"})
SCALAR_METHODS = frozenset(
    [
        "size",
        "dim",
        "numel",
        "item",
        "tolist",
        "element_size",
        "stride",
        "get_device",
        "is_contiguous",
        "data_ptr",
        "nelement",
        "ndimension",
    ]
)
#: Constructors of parameters and buffers.
PARAMETERS = frozenset({"torch.nn.Parameter", "torch.nn.parameter.Parameter", "torch.nn.Buffer"})
CONTAINERS = frozenset({"Sequential", "ModuleList", "ModuleDict"})


@dataclass(frozen=True)
class Operation:
    """One spelling: its canonical kind, and the names of its inputs and attributes in the order of arguments."""

    kind: str
    inputs: tuple[str, ...]
    attributes: tuple[str, ...]
    method: str = ""  #: for a method, its name

    @property
    def names(self) -> tuple[str, ...]:
        return self.inputs + self.attributes


def _read() -> tuple[dict[str, Operation], dict[str, Operation]]:
    functions: dict[str, Operation] = {}
    methods: dict[str, Operation] = {}
    for line in _TABLE.strip().splitlines():
        signature, _, spellings = line.partition("=")
        kind, _, arguments = signature.partition(":")
        inputs, _, attributes = arguments.partition("|")
        for spelling in spellings.split():
            name = spelling.rpartition(".")[2]
            operation = Operation(kind, tuple(inputs.split()), tuple(attributes.split()), name)
            if spelling.startswith("F."):
                functions[f"torch.nn.functional.{name}"] = operation
            elif spelling.startswith("."):
                methods[name] = operation
            elif "." in spelling:
                functions[spelling] = operation
            else:
                functions[f"torch.{name}"] = methods[name] = operation
    return functions, methods


def _read_layers() -> dict[str, tuple[str, tuple[str, ...]]]:
    found = {}
    for line in _LAYERS.strip().splitlines():
        signature, _, name = line.partition("=")
        kind, _, arguments = signature.partition(":")
        found[f"torch.nn.{name.strip()}"] = kind, tuple(arguments.split())
    return found


FUNCTIONS, METHODS = _read()
#: Dotted class → canonical kind of a call, and the names of the constructor's arguments.
LAYERS = _read_layers()
#: Every kind that a pattern may name.
KINDS = frozenset(
    [op.kind for op in (*FUNCTIONS.values(), *METHODS.values())]
    + [kind for kind, _ in LAYERS.values()]
    + list(GROUPS)
    + ["item", "index", "slice", "einsum", "call", "module", "phi", "setitem", "unknown"]
)


def function(dotted: str) -> Operation | None:
    """The operation that a function of a library is."""
    found = FUNCTIONS.get(dotted)
    if found is not None or not dotted.startswith("torch."):
        return found
    if dotted.startswith("torch.nn.functional."):
        return FUNCTIONS.get("torch." + dotted[20:])
    return FUNCTIONS.get("torch." + dotted[13:]) if dotted.startswith("torch.Tensor.") else None


def layer(dotted: str) -> tuple[str, tuple[str, ...]] | None:
    """Kind and constructor's arguments of a layer class."""
    found = LAYERS.get(dotted)
    if found is None and dotted.startswith("torch.nn.modules."):
        found = LAYERS.get("torch.nn." + dotted.rpartition(".")[2])
    return found
