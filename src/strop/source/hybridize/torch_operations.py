"""What an operation of PyTorch costs, run by itself and as a part of a compiled graph: the units of the estimates.

One unit is a pass over a tensor of activations by an element-wise operation. Products and convolutions are calls of a
library in both cases and gain nothing; element-wise operations, normalisations and reductions share their passes once
they are compiled; an activation between two products has nothing to share a pass with. A dropout that drops is dear in
a compiled training step: Inductor draws its random numbers one by one on a CPU. A model that is only run has none, and
Strop's backend makes code of its own for products and convolutions, too. Its figures of training are fitted to steps on
a Zen 5: a GPT 1.9 times as fast as eager mode, a ViT 1.7, BERT 1.9, an LSTM 1.07, ResNet-18 1.15, UNet 1.5, MobileNetV2
1.6, EfficientNet-B0 2.0.

The figures of CPUs were fitted to measured steps, Inductor beside eager (`benchmarks/proposals.py` measures what comes
of them). Training: BERT 0.86 times as fast, a ViT with dropout 0.84, LSTM 0.88, ResNet-18 and ConvNeXt 0.93, GPT-2
1.07, a Conformer 1.08, EfficientNet 1.09, UNet 1.17, the U-Net of a diffusion model 1.20, a DiT 1.21. Inference on a
Zen 5, where products in Inductor's graphs wait for copies: a Perceiver 0.96, a Performer 1.14, a Llama 1.16. Those of
Strop's backend are rough, and those of GPUs are guesses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

#: an estimate below this is not worth an edit, nor the time to compile
WORTH_SAYING = 1.15
#: what entering a graph costs at each call: guards, and autograd's bookkeeping
ENTRY = 4.0


@dataclass(frozen=True)
class Cost:
    """Units by itself, units in a graph, and what it is in words."""

    eager: float
    compiled: float
    kind: str


_WORDS = {
    "product": "Linear LazyLinear Bilinear linear bilinear matmul rmatmul mm bmm mv addmm addmv addbmm baddbmm einsum "
    "tensordot chain_matmul cdist LSTMCell GRUCell RNNCell",
    "convolution": "Conv2d Conv3d LazyConv2d conv2d conv3d unfold Unfold fold Fold",
    "transposed convolution": "ConvTranspose2d ConvTranspose3d conv_transpose2d conv_transpose3d",
    "1-d convolution": "Conv1d ConvTranspose1d LazyConv1d conv1d conv_transpose1d",
    "attention": "scaled_dot_product_attention MultiheadAttention multi_head_attention_forward",
    "transformer": "Transformer TransformerEncoder TransformerDecoder TransformerEncoderLayer TransformerDecoderLayer",
    "recurrent": "LSTM GRU RNN",
    "normalisation": "LayerNorm GroupNorm RMSNorm InstanceNorm1d InstanceNorm2d InstanceNorm3d LocalResponseNorm "
    "layer_norm group_norm instance_norm rms_norm",
    "softmax": "softmax log_softmax Softmax LogSoftmax",
    "activation": "ReLU ReLU6 GELU SiLU Sigmoid Tanh LeakyReLU ELU Hardswish Hardsigmoid Mish PReLU Softplus GLU relu "
    "relu6 gelu silu leaky_relu elu hardswish hardsigmoid mish prelu softplus glu",
    "batch norm": "BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm LazyBatchNorm2d batch_norm",
    "dropout": "Dropout Dropout1d Dropout2d Dropout3d AlphaDropout dropout dropout1d dropout2d dropout3d "
    "alpha_dropout bernoulli rand_like randn_like rand randn normal uniform_ normal_ bernoulli_ multinomial",
    "movement": "cat concat stack hstack vstack dstack pad interpolate upsample Upsample PixelShuffle pixel_shuffle "
    "pixel_unshuffle roll flip gather index_select index_put_ index_copy_ take_along_dim repeat repeat_interleave tile "
    "contiguous clone grid_sample affine_grid max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d "
    "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool2d MaxPool1d MaxPool2d MaxPool3d AvgPool1d AvgPool2d "
    "AvgPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool2d Embedding EmbeddingBag "
    "embedding embedding_bag setitem copy_ ReflectionPad2d ZeroPad2d tril triu one_hot masked_select nonzero",
    "scatter": "index_add scatter scatter_add scatter_ scatter_add_ index_add_ scatter_reduce scatter_reduce_",
    "making": "zeros ones full empty arange linspace eye zeros_like ones_like full_like empty_like new_zeros new_ones "
    "new_full new_tensor tensor as_tensor from_numpy meshgrid scalar_tensor logspace",
    "library": "sort argsort topk kthvalue unique svd qr cholesky inverse inv solve eigh eig det slogdet lstsq pinv "
    "fft ifft rfft irfft fft2 ifft2 rfft2 irfft2 fftn ifftn stft istft cumsum cumprod searchsorted bincount histc "
    "cross_entropy nll_loss ctc_loss CTCLoss CrossEntropyLoss NLLLoss unique_consecutive median mode matrix_exp",
    "free": "view reshape permute transpose swapaxes swapdims movedim moveaxis t unsqueeze squeeze expand expand_as "
    "flatten unflatten Flatten Unflatten chunk split tensor_split unbind narrow select detach detach_ size "
    "stride dim numel view_as reshape_as broadcast_to broadcast_tensors type_as to cuda cpu getitem "
    "requires_grad_ is_floating_point Identity Sequential ModuleList ModuleDict Module item tolist numpy "
    "data_ptr is_contiguous device dtype finfo iinfo Parameter parameters named_parameters modules "
    "named_modules children named_children buffers state_dict apply diagonal real imag view_as_complex "
    "view_as_real len shape Size is_tensor no_grad enable_grad inference_mode set_grad_enabled autocast "
    "is_grad_enabled manual_seed checkpoint checkpoint_sequential is_compiling is_tracing is_scripting train "
    "eval init zero_grad backward step register_buffer register_parameter bool_ iter next",
}
_BY_WORD = {word: kind for kind, words in _WORDS.items() for word in words.split()}
#: units by itself and in a graph
_UNITS = {
    "cpu": {
        "product": (5.0, 5.1),
        "small product": (2.0, 1.8),
        "convolution": (8.0, 8.5),
        "transposed convolution": (8.0, 8.5),
        "1-d convolution": (8.0, 8.5),
        "attention": (12.0, 12.0),
        "transformer": (60.0, 58.0),
        "recurrent": (40.0, 43.0),
        "normalisation": (1.5, 1.1),
        "softmax": (1.5, 1.1),
        "batch norm": (1.5, 1.4),
        "activation": (1.0, 0.8),
        "dropout": (1.5, 4.5),
        "movement": (1.0, 0.8),
        "scatter": (1.0, 0.8),
        "making": (0.5, 0.1),
        "library": (4.0, 4.0),
        "element-wise": (1.0, 0.2),
        "layer": (16.0, 15.5),
        "model": (300.0, 300.0),
        "free": (0.0, 0.0),
    },
    "cpu, inference": {
        "product": (5.0, 6.3),
        "small product": (2.0, 1.8),
        "convolution": (8.0, 8.2),
        "transposed convolution": (8.0, 8.2),
        "1-d convolution": (8.0, 8.2),
        "attention": (12.0, 12.0),
        "transformer": (60.0, 58.0),
        "recurrent": (40.0, 43.0),
        "normalisation": (1.5, 1.1),
        "softmax": (1.5, 1.1),
        "batch norm": (1.5, 1.0),
        "activation": (1.0, 0.8),
        "dropout": (0.0, 0.0),
        "movement": (1.0, 0.8),
        "scatter": (1.0, 0.8),
        "making": (0.5, 0.1),
        "library": (4.0, 4.0),
        "element-wise": (1.0, 0.2),
        "layer": (16.0, 15.5),
        "model": (300.0, 300.0),
        "free": (0.0, 0.0),
    },
    "cpu, strop": {
        "product": (5.0, 4.2),
        "small product": (2.0, 1.2),
        "convolution": (8.0, 5.0),
        "transposed convolution": (8.0, 5.0),
        "1-d convolution": (8.0, 5.0),
        "attention": (12.0, 10.0),
        "transformer": (60.0, 45.0),
        "recurrent": (40.0, 30.0),
        "normalisation": (1.5, 0.9),
        "softmax": (1.5, 0.9),
        "batch norm": (1.5, 0.1),
        "activation": (1.0, 0.2),
        "dropout": (0.0, 0.0),
        "movement": (1.0, 0.6),
        "scatter": (1.0, 0.6),
        "making": (0.5, 0.1),
        "library": (4.0, 4.0),
        "element-wise": (1.0, 0.2),
        "layer": (16.0, 12.0),
        "model": (300.0, 300.0),
        "free": (0.0, 0.0),
    },
    "cpu, strop, training": {
        "product": (5.0, 2.9),
        "small product": (2.0, 1.3),
        "convolution": (8.0, 6.3),
        "transposed convolution": (8.0, 6.3),
        "1-d convolution": (8.0, 6.3),
        "attention": (12.0, 6.0),
        "transformer": (60.0, 33.0),
        "recurrent": (40.0, 40.0),
        "normalisation": (1.5, 1.2),
        "softmax": (1.5, 1.2),
        "batch norm": (1.5, 0.8),
        "activation": (1.0, 0.3),
        "dropout": (1.5, 1.2),
        "movement": (1.0, 0.8),
        "scatter": (1.0, 0.8),
        "making": (0.5, 0.1),
        "library": (4.0, 4.0),
        "element-wise": (1.0, 0.3),
        "layer": (16.0, 14.0),
        "model": (300.0, 300.0),
        "free": (0.0, 0.0),
    },
    "cuda": {
        "product": (8.0, 7.7),
        "small product": (2.0, 1.5),
        "convolution": (8.0, 7.4),
        "transposed convolution": (8.0, 7.4),
        "1-d convolution": (8.0, 7.4),
        "attention": (12.0, 11.8),
        "transformer": (60.0, 52.0),
        "recurrent": (40.0, 42.0),
        "normalisation": (2.0, 1.0),
        "softmax": (2.0, 1.0),
        "batch norm": (2.0, 0.9),
        "activation": (1.5, 0.6),
        "dropout": (1.5, 0.4),
        "movement": (1.5, 1.0),
        "scatter": (1.5, 1.0),
        "making": (1.0, 0.2),
        "library": (4.0, 4.0),
        "element-wise": (1.5, 0.3),
        "layer": (16.0, 14.0),
        "model": (300.0, 300.0),
        "free": (0.0, 0.0),
    },
}
#: kinds that share their passes over memory once they are compiled
FUSED = ("element-wise", "normalisation", "softmax", "activation", "making")
#: calls of a library, compiled or not
UNCHANGED = (
    "product",
    "small product",
    "convolution",
    "transposed convolution",
    "1-d convolution",
    "attention",
    "transformer",
    "recurrent",
    "library",
    "layer",
    "model",
)


def kind_of(target: str) -> str:
    """What a library function is: `torch.Tensor.__add__` is element-wise, `torch.nn.Linear.__call__` a product."""
    if not target.startswith(("torch.", "einops.")):
        return "free"
    if target.startswith(("torch.nn.init.", "torch.utils.", "torch.cuda.", "torch.optim.", "torch.distributed.")):
        return "free"
    owner = target.removesuffix(".__call__")
    word = owner.rpartition(".")[2]
    if word.startswith("__") and word.endswith("__"):
        word = word.strip("_")
    if word[:1].isupper() and owner == target:
        return "free"  # making a layer is not running it
    if target.startswith("einops."):
        return "product" if word == "einsum" else "movement" if word in ("repeat", "reduce") else "free"
    return _BY_WORD.get(word) or _BY_WORD.get(word.rstrip("_")) or "element-wise"


@cache
def cost_of(kind: str, target: str) -> Cost:
    """The units of a kind of operation by one of the tables: of training, of inference, of Strop's backend, of GPUs."""
    eager, compiled = _UNITS[target][kind]
    return Cost(eager, compiled, kind)
