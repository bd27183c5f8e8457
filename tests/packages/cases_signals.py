"""Packages for sound, time series, tables and graphs, by the arguments of their documentation, made small."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from cases import Case, Cases, both, case, found, images, series
from torch import nn


def asteroid() -> Cases:
    sound = images(1, 800, other=(1, 640))
    masks, spectrum = "asteroid.masknn", images(16, 30, other=(16, 24))
    return {
        "ConvTasNet": case("asteroid.models:ConvTasNet", sound, n_src=2, n_filters=16, kernel_size=8, n_blocks=2,
                           n_repeats=1, bn_chan=8, hid_chan=8, skip_chan=8),
        "DPRNNTasNet": case("asteroid.models:DPRNNTasNet", sound, n_src=2, n_filters=16, kernel_size=8, bn_chan=8,
                            hid_size=8, chunk_size=10, n_repeats=1),
        "DPTNet": case("asteroid.models:DPTNet", sound, n_src=2, n_filters=16, kernel_size=8, n_heads=4, ff_hid=8,
                       chunk_size=10, n_repeats=1),
        "SuDORMRFNet": case("asteroid.models:SuDORMRFNet", sound, n_src=2, bn_chan=8, num_blocks=1, upsampling_depth=2,
                            n_filters=16, kernel_size=9),
        "SuDORMRFImprovedNet": case("asteroid.models:SuDORMRFImprovedNet", sound, n_src=2, bn_chan=8, num_blocks=1,
                                    upsampling_depth=2, n_filters=16, kernel_size=9),
        "TDConvNet": case(f"{masks}:TDConvNet", spectrum, in_chan=16, n_src=2, n_blocks=2, n_repeats=1, bn_chan=8,
                          hid_chan=8, skip_chan=8),
        "DPRNN": case(f"{masks}:DPRNN", spectrum, in_chan=16, n_src=2, bn_chan=8, hid_size=8, chunk_size=6,
                      n_repeats=1),
        "DPTransformer": case(f"{masks}:DPTransformer", spectrum, in_chan=16, n_src=2, n_heads=4, ff_hid=8,
                              chunk_size=6, n_repeats=1),
        "GlobLN": case(f"{masks}.norms:GlobLN", spectrum, channel_size=16),
        "ChanLN": case(f"{masks}.norms:ChanLN", spectrum, channel_size=16),
        "CumLN": case(f"{masks}.norms:CumLN", spectrum, channel_size=16),
        "FeatsGlobLN": case(f"{masks}.norms:FeatsGlobLN", spectrum, channel_size=16),
        "Swish": case(f"{masks}.activations:Swish", spectrum),
        "PairwiseNegSDR": case("asteroid.losses:PairwiseNegSDR", both(images(2, 50), images(2, 50)), sdr_type="sisdr"),
    }  # fmt: skip


def speechbrain() -> Cases:
    nets, models = "speechbrain.nnet", "speechbrain.lobes.models"
    vectors, queries = series(20, 32, other=13), both(*[series(12, 32, other=9)] * 3)
    spectrum = series(40, 16, other=30)
    former: dict[str, Any] = {"d_ffn": 48, "nhead": 4, "d_model": 32, "num_layers": 2, "dropout": 0.1}
    encoder = f"{models}.transformer.Transformer:TransformerEncoder"
    return {
        "TransformerEncoder": case(encoder, vectors, **former),
        "TransformerEncoder, normalised first": case(encoder, vectors, normalize_before=True, **former),
        "TransformerEncoder, 1d convolution": case(encoder, vectors, ffn_type="1dcnn", ffn_cnn_kernel_size_list=[3, 3],
                                                   **former),
        "ConformerEncoderLayer": Case(_conformer, _with_positions),
        "RelPosMHAXL": case(f"{nets}.attention:RelPosMHAXL", _queries_and_positions, embed_dim=32, num_heads=4),
        "MultiheadAttention": case(f"{nets}.attention:MultiheadAttention", queries, nhead=4, d_model=32),
        "PositionalwiseFeedForward": case(f"{nets}.attention:PositionalwiseFeedForward", vectors, d_ffn=48,
                                          input_size=32, dropout=0.1),
        "ContentBasedAttention": case(f"{nets}.attention:ContentBasedAttention", _content, enc_dim=16, dec_dim=12,
                                      attn_dim=8, output_dim=5),
        "ECAPA_TDNN": case(f"{models}.ECAPA_TDNN:ECAPA_TDNN", spectrum, input_size=16, lin_neurons=8,
                           channels=[8, 8, 8, 8, 24], kernel_sizes=[3, 3, 3, 3, 1], dilations=[1, 1, 1, 1, 1],
                           attention_channels=8, res2net_scale=2, se_channels=8),
        "Xvector": case(f"{models}.Xvector:Xvector", spectrum, in_channels=16, tdnn_blocks=2, tdnn_channels=[8, 16],
                        tdnn_kernel_sizes=[3, 1], tdnn_dilations=[1, 1], lin_neurons=8),
        "CRDNN": case(f"{models}.CRDNN:CRDNN", spectrum, input_size=16, cnn_blocks=1, cnn_channels=(4,), rnn_layers=1,
                      rnn_neurons=8, dnn_blocks=1, dnn_neurons=8),
        "ContextNet": case(f"{models}.ContextNet:ContextNet", spectrum, input_shape=(2, 40, 16), out_channels=8,
                           conv_channels=[8, 8, 8], strides=[1, 2, 1], num_blocks=3, num_layers=1, kernel_size=3,
                           inner_dim=4, residuals=[True, True, True]),
        "ConvolutionFrontEnd": case(f"{models}.convolution:ConvolutionFrontEnd", spectrum, input_shape=(2, 40, 16),
                                    num_blocks=2, num_layers_per_block=1, out_channels=[4, 8], kernel_sizes=[3, 3],
                                    strides=[2, 2], residuals=[False, False]),
        "Encoder": case(f"{models}.dual_path:Encoder", images(200), kernel_size=4, out_channels=8),
        "SBTransformerBlock": case(f"{models}.dual_path:SBTransformerBlock", series(12, 32), num_layers=1, d_model=32,
                                   nhead=4, d_ffn=48),
        "conv-tasnet masks": case(f"{models}.conv_tasnet:MaskNet", images(16, 10), N=16, B=8, H=8, P=3, X=2, R=1, C=2),
        "LayerNorm": case(f"{nets}.normalization:LayerNorm", vectors, input_size=32),
        "InstanceNorm1d": case(f"{nets}.normalization:InstanceNorm1d", vectors, input_size=32),
        "PCEN": case(f"{nets}.normalization:PCEN", spectrum, input_size=16, trainable=True),
        "Swish": case(f"{nets}.activations:Swish", vectors, beta=1.5),
        "Softmax": case(f"{nets}.activations:Softmax", vectors, apply_log=True),
        "LSTM": case(f"{nets}.RNN:LSTM", spectrum, hidden_size=8, input_shape=[2, 40, 16]),
        "LiGRU": case(f"{nets}.RNN:LiGRU", spectrum, hidden_size=8, input_shape=[2, 40, 16]),
        "SincConv": case(f"{nets}.CNN:SincConv", images(400), in_channels=1, out_channels=8, kernel_size=21),
        "GatedConv": case(f"{nets}.CNN:DepthwiseSeparableConv1d", spectrum, out_channels=8, kernel_size=3,
                          input_shape=(2, 40, 16)),
        "AttentiveStatisticsPooling": case(f"{models}.ECAPA_TDNN:AttentiveStatisticsPooling", images(16, 20),
                                           channels=16, attention_channels=8),
        "StatisticsPooling": case(f"{nets}.pooling:StatisticsPooling", spectrum),
        "HypergraphMixing": case(f"{nets}.hypermixing:HyperMixing", both(*[vectors] * 3), input_output_dim=32, hypernet_size=16,
                                 tied=False, num_heads=2),
    }  # fmt: skip


def _conformer() -> Any:
    kind = found("speechbrain.lobes.models.transformer.Conformer:ConformerEncoderLayer")
    return kind(d_ffn=48, nhead=4, d_model=32, kernel_size=5)


def _with_positions(variant: int) -> Any:
    length = 9 if variant else 12
    return {"x": torch.randn(2 + variant, length, 32), "pos_embs": torch.randn(1, 2 * length - 1, 32)}


def _queries_and_positions(variant: int) -> Any:
    one = _with_positions(variant)
    return {"query": one["x"], "key": one["x"] * 0.5, "value": one["x"] + 1, "pos_embs": one["pos_embs"]}


def _content(variant: int) -> Any:
    return (torch.randn(2, 10, 16), torch.ones(2), torch.randn(2, 12))


def tsai() -> Cases:
    line, models = images(3, 48), "tsai.models"
    plain = "FCN.FCN FCNPlus.FCNPlus ResNet.ResNet ResNetPlus.ResNetPlus InceptionTime.InceptionTime "
    plain += "InceptionTimePlus.InceptionTimePlus XceptionTime.XceptionTime XResNet1d.xresnet1d18 TCN.TCN "
    plain += "RNN.LSTM RNN.GRU RNN_FCN.LSTM_FCN OmniScaleCNN.OmniScaleCNN ResCNN.ResCNN TSTPlus.TSTPlus TST.TST "
    plain += "TransformerModel.TransformerModel TransformerRNNPlus.TransformerLSTMPlus gMLP.gMLP TSiTPlus.TSiTPlus "
    plain += "TSSequencerPlus.TSSequencerPlus mWDN.mWDN ConvTranPlus.ConvTranPlus PatchTST.PatchTST MLP.MLP "
    plain += "XCM.XCM XCMPlus.XCMPlus RNNPlus.LSTMPlus RNNPlus.GRUPlus RNN_FCNPlus.GRU_FCNPlus "
    plain += "RNNAttention.LSTMAttention XceptionTimePlus.XceptionTimePlus TSPerceiver.TSPerceiver"

    def of(place: str) -> Case:
        module, _, name = place.partition(".")

        def make() -> Any:
            kind = found(f"{models}.{module}:{name}")
            sized = "seq_len" in inspect.signature(kind).parameters
            model = kind(3, 2, seq_len=48) if sized else kind(3, 2)
            return nn.Sequential(nn.BatchNorm1d(3), model) if name == "TSTPlus" else model  # it writes to its input

        return Case(make, line)

    return {place: of(place) for place in plain.split()}


def pytorch_tabnet() -> Cases:
    row: dict[str, Any] = {"input_dim": 6, "output_dim": 2, "n_d": 4, "n_a": 4, "n_steps": 2}
    row["group_attention_matrix"] = torch.eye(6)
    nets, data = "pytorch_tabnet.tab_network", images(6)
    blocks: dict[str, Any] = {"shared_layers": None, "n_glu_independent": 2, "virtual_batch_size": 128}
    return {
        "TabNet": case(f"{nets}:TabNet", data, **row),
        "TabNet, entmax": case(f"{nets}:TabNet", data, mask_type="entmax", **row),
        "TabNetNoEmbeddings": case(f"{nets}:TabNetNoEmbeddings", data, **row),
        "FeatTransformer": case(f"{nets}:FeatTransformer", data, input_dim=6, output_dim=4, **blocks),
        "GLU_Layer": case(f"{nets}:GLU_Layer", data, input_dim=6, output_dim=4),
        "GBN": case(f"{nets}:GBN", data, input_dim=6, virtual_batch_size=128),
        "Sparsemax": case("pytorch_tabnet.sparsemax:Sparsemax", data),
        "Entmax15": case("pytorch_tabnet.sparsemax:Entmax15", data),
    }


def torch_geometric() -> Cases:
    nets, wide = "torch_geometric.nn", {"in_channels": 8, "hidden_channels": 12, "num_layers": 2, "out_channels": 5}
    convs = "GCNConv SAGEConv GATConv GATv2Conv TransformerConv GINConv ChebConv TAGConv SGConv ARMAConv GraphConv "
    convs += "LEConv ClusterGCNConv SuperGATConv ResGatedGraphConv FiLMConv GeneralConv GENConv MFConv"
    made = {
        name: case(f"{nets}:{name}", _graph, **wide)
        for name in ("GCN", "GraphSAGE", "GIN", "GAT", "PNA", "EdgeCNN")
        if name != "PNA"
    }
    for name in convs.split():
        if name != "GINConv":
            more = {"K": 2} if name == "ChebConv" else {}
            made[name] = case(f"{nets}:{name}", _graph, in_channels=8, out_channels=6, **more)
    norms = "BatchNorm InstanceNorm LayerNorm GraphNorm GraphSizeNorm PairNorm MeanSubtractionNorm MessageNorm DiffGroupNorm"
    for name in norms.split():
        more = {"in_channels": 8} if name in ("BatchNorm", "InstanceNorm", "LayerNorm", "GraphNorm") else {}
        more = {"in_channels": 8, "groups": 2} if name == "DiffGroupNorm" else more
        if name != "MessageNorm":
            made[name] = case(f"{nets}:{name}", images(8), **more)
    made |= {
        "MLP": case(f"{nets}:MLP", images(8), channel_list=[8, 12, 5], dropout=0.1),
        "GPSConv": Case(_gps, _graph),
        "MultiAggregation": case(f"{nets}:SoftmaxAggregation", images(8), learn=True),
        "Set2Set": case(f"{nets}:Set2Set", images(8), in_channels=8, processing_steps=2),
        "GraphMultisetTransformer": case(f"{nets}:GraphMultisetTransformer", images(8), channels=8, k=3, heads=2),
        "SetTransformerAggregation": case(f"{nets}:SetTransformerAggregation", images(8), channels=8, heads=2),
        "SchNet": Case(
            lambda: found(f"{nets}:SchNet")(
                hidden_channels=16, num_filters=16, num_interactions=2, num_gaussians=8, interaction_graph=_neighbours
            ),
            _atoms,
        ),
        "PositionalEncoding": case(
            f"{nets}:PositionalEncoding", lambda variant: (torch.arange(5.0 + variant),), out_channels=8
        ),
    }
    return made  # fmt: skip


def _graph(variant: int) -> Any:
    nodes = 9 if variant else 7
    generator = torch.Generator().manual_seed(variant)
    return (torch.randn(nodes, 8), torch.randint(0, nodes, (2, 20), generator=generator))


def _gps() -> Any:
    inner = found("torch_geometric.nn:GCNConv")(8, 8)
    return found("torch_geometric.nn:GPSConv")(8, inner, heads=2)


def _atoms(variant: int) -> Any:
    return (torch.randint(1, 9, (6,)), torch.randn(6, 3), torch.tensor([0, 0, 0, 1, 1, 1]))


def _neighbours(places: torch.Tensor, molecule: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Every pair of atoms of a molecule, and how far they are apart."""
    same = (molecule[:, None] == molecule[None]) & ~torch.eye(len(molecule), dtype=torch.bool)
    pairs = same.nonzero().t()
    return pairs, (places[pairs[0]] - places[pairs[1]]).norm(dim=-1)
