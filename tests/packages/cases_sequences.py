"""Packages of transformers and their relatives, by the arguments of their documentation, made small."""

from __future__ import annotations

import argparse
from typing import Any

import torch
from cases import Case, Cases, both, case, found, images, in_training_only, named, numbers, series, tokens

LAYERS: dict[str, Any] = {"dim": 32, "depth": 2, "heads": 4, "attn_dim_head": 8}
#: what the documentation of x-transformers lists, feature by feature
FEATURES: dict[str, dict[str, Any]] = {
    "plain": {},
    "flash": {"attn_flash": True},
    "dropout": {"attn_dropout": 0.1, "ff_dropout": 0.1, "layer_dropout": 0.1},
    "rmsnorm": {"use_rmsnorm": True},
    "simple rmsnorm": {"use_simple_rmsnorm": True},
    "scalenorm": {"use_scalenorm": True},
    "dynamic tanh": {"use_dynamic_tanh": True},
    "glu": {"ff_glu": True},
    "swiglu": {"ff_glu": True, "ff_swish": True},
    "swiglu without bias": {"ff_glu": True, "ff_swish": True, "ff_no_bias": True},
    "relu squared": {"ff_relu_squared": True},
    "post activation norm": {"ff_post_act_ln": True},
    "talking heads": {"attn_pre_talking_heads": True, "attn_post_talking_heads": True},
    "one kv head": {"attn_one_kv_head": True},
    "grouped queries": {"attn_kv_heads": 2},
    "sparse top-k": {"attn_sparse_topk": 4},
    "attention on attention": {"attn_on_attn": True},
    "sandwich": {"sandwich_coef": 1},
    "macaron": {"macaron": True},
    "t5 bias": {"rel_pos_bias": True},
    "dynamic position bias": {"dynamic_pos_bias": True},
    "alibi": {"alibi_pos_bias": True, "alibi_num_heads": 2},
    "rotary": {"rotary_pos_emb": True},
    "rotary xpos": {"rotary_xpos": True},
    "residual attention": {"residual_attn": True},
    "query-key norm": {"attn_qk_norm": True},
    "query-key norm of dimensions": {"attn_qk_norm": True, "attn_qk_norm_dim_scale": True},
    "gated residual": {"gate_residual": True},
    "scaled residual": {"scale_residual": True},
    "shifted tokens": {"shift_tokens": 1},
    "sandwich norm": {"sandwich_norm": True},
    "value gates": {"attn_gate_values": True},
    "memory keys": {"attn_num_mem_kv": 3},
    "head scale": {"attn_head_scale": True},
    "soft clamp": {"attn_softclamp_logits": True},
    "value residual": {"add_value_residual": True},
}


def x_transformers() -> Cases:
    wrapper = "x_transformers:TransformerWrapper"

    def language_model(kind: str, inputs: Any = None, **given: Any) -> Case:
        def make() -> Any:
            layers = found(f"x_transformers:{kind}")(**{**LAYERS, **given})
            return found(wrapper)(num_tokens=41, max_seq_len=24, attn_layers=layers)

        return Case(make, inputs or tokens(41, 16, other=11))

    words, masked = tokens(41, 16, other=11), _masked_tokens
    made = {f"decoder, {what}": language_model("Decoder", **given) for what, given in FEATURES.items()}
    made |= {
        f"encoder with a mask, {what}": language_model("Encoder", masked, **FEATURES[what])
        for what in ("plain", "flash", "rotary", "alibi", "t5 bias", "swiglu", "query-key norm", "talking heads")
    }
    return made | {
        "image": Case(
            lambda: found("x_transformers:ViTransformerWrapper")(
                image_size=32, patch_size=8, num_classes=7, attn_layers=found("x_transformers:Encoder")(**LAYERS)
            ),
            images(3, 32, 32),
        ),
        "encoder and decoder": case(
            "x_transformers:XTransformer", both(words, words), dim=32, enc_num_tokens=41, enc_depth=1, enc_heads=4,
            enc_max_seq_len=24, dec_num_tokens=41, dec_depth=1, dec_heads=4, dec_max_seq_len=24, tie_token_emb=True,
        ),
        "continuous": Case(
            lambda: found("x_transformers:ContinuousTransformerWrapper")(
                dim_in=8, dim_out=6, max_seq_len=24, attn_layers=found("x_transformers:Encoder")(**LAYERS)
            ),
            series(16, 8, other=11),
        ),
        "autoregressive": Case(
            lambda: found("x_transformers:AutoregressiveWrapper")(language_model("Decoder").make()), words
        ),
        "neo mlp": case("x_transformers:NeoMLP", images(5), dim_in=5, dim_hidden=7, dim_out=5, depth=2, dim_model=32),
    }  # fmt: skip


def _masked_tokens(variant: int) -> Any:
    (words,) = tokens(41, 16, other=11)(variant)
    mask = torch.arange(words.shape[1])[None] < torch.arange(5, 5 + len(words))[:, None]
    return {"x": words, "mask": mask}


def performer_pytorch() -> Cases:
    words, vectors = tokens(41, 16), series(16, 32, other=11)
    base: dict[str, Any] = {"dim": 32, "depth": 2, "heads": 4, "dim_head": 8, "nb_features": 16}
    text: dict[str, Any] = {"num_tokens": 41, "max_seq_len": 16, **base}
    lm, plain = "performer_pytorch:PerformerLM", "performer_pytorch:Performer"
    return {
        "language model": case(lm, words, **text),
        "causal language model": case(lm, words, causal=True, **text),
        "with glu": case(lm, words, ff_glu=True, **text),
        "with scalenorm": case(lm, words, use_scalenorm=True, **text),
        "with rezero": case(lm, words, use_rezero=True, **text),
        "with rotary": case(lm, words, rotary_position_emb=True, **text),
        "generalized": case(lm, words, generalized_attention=True, **text),
        "without projection": case(lm, words, no_projection=True, **text),
        "with local heads": case(lm, words, local_attn_heads=2, local_window_size=4, **text),
        "shifted tokens": case(lm, words, shift_tokens=True, **text),
        "performer": case(plain, vectors, **base),
        **in_training_only({"reversible": case(plain, vectors, reversible=True, **base)}),
        "self-attention": case("performer_pytorch:SelfAttention", vectors, dim=32, heads=4, dim_head=8),
        "encoder and decoder": case(
            "performer_pytorch:PerformerEncDec", both(words, words), dim=32, tie_token_embeds=True, enc_num_tokens=41,
            enc_depth=1, enc_heads=4, enc_max_seq_len=16, dec_num_tokens=41, dec_depth=1, dec_heads=4,
            dec_max_seq_len=16,
        ),
    }  # fmt: skip


def linear_attention_transformer() -> Cases:
    words, vectors = tokens(41, 16), series(16, 32)
    base: dict[str, Any] = {"dim": 32, "heads": 4, "depth": 2, "max_seq_len": 16, "dim_head": 8}
    lm = "linear_attention_transformer:LinearAttentionTransformerLM"
    return {
        "language model": case(lm, words, num_tokens=41, **base),
        "causal": case(lm, words, num_tokens=41, causal=True, blindspot_size=2, **base),
        "with local heads": case(lm, words, num_tokens=41, n_local_attn_heads=2, local_attn_window_size=4, **base),
        "with glu": case(lm, words, num_tokens=41, ff_glu=True, **base),
        **in_training_only({"reversible": case(lm, words, num_tokens=41, reversible=True, **base)}),
        "shifted tokens": case(lm, words, num_tokens=41, shift_tokens=True, **base),
        "transformer": case("linear_attention_transformer:LinearAttentionTransformer", vectors, **base),
        "image attention": case(
            "linear_attention_transformer.images:ImageLinearAttention", images(16, 8, 8, other=(16, 6, 10)), chan=16,
            heads=4, key_dim=8, value_dim=8,
        ),
    }  # fmt: skip


def perceiver_pytorch() -> Cases:
    base: dict[str, Any] = {"input_channels": 3, "input_axis": 2, "num_freq_bands": 3, "max_freq": 8.0, "depth": 2}
    base |= {"num_latents": 6, "latent_dim": 16, "cross_heads": 1, "latent_heads": 2, "cross_dim_head": 8}
    base |= {"latent_dim_head": 8, "num_classes": 7}
    picture = images(12, 12, 3, other=(8, 10, 3))
    io: dict[str, Any] = {"dim": 8, "num_latents": 6, "latent_dim": 16, "cross_dim_head": 8, "latent_dim_head": 8}
    return {
        "perceiver": case("perceiver_pytorch:Perceiver", picture, **base),
        "tied": case("perceiver_pytorch:Perceiver", picture, weight_tie_layers=True, **base),
        "with dropout": case("perceiver_pytorch:Perceiver", picture, attn_dropout=0.1, ff_dropout=0.1, **base),
        "gated": case("perceiver_pytorch.gated:Perceiver", picture, **base),
        "mixed latents": case("perceiver_pytorch.mixed_latents:Perceiver", picture, **base),
        "perceiver io": case(
            "perceiver_pytorch:PerceiverIO", named(data=series(14, 8, other=9), queries=series(5, 12, other=4)),
            depth=2, queries_dim=12, logits_dim=7, latent_heads=2, **io,
        ),
        "perceiver lm": case(
            "perceiver_pytorch:PerceiverLM", tokens(41, 16, other=11), num_tokens=41, max_seq_len=16, depth=2,
            latent_heads=2, **io,
        ),
    }  # fmt: skip


def conformer() -> Cases:
    vectors = series(20, 32, other=13)
    base: dict[str, Any] = {"dim": 32, "dim_head": 8, "heads": 4, "ff_mult": 2, "conv_kernel_size": 7}
    return {
        "conformer": case("conformer:Conformer", vectors, depth=2, **base),
        "causal": case("conformer:Conformer", vectors, depth=1, conv_causal=True, **base),
        "block": case("conformer:ConformerBlock", vectors, attn_dropout=0.1, ff_dropout=0.1, conv_dropout=0.1, **base),
        "convolution": case("conformer.conformer:ConformerConvModule", vectors, dim=32, kernel_size=7),
        "attention": case("conformer.conformer:Attention", vectors, dim=32, heads=4, dim_head=8),
    }


def reformer_pytorch() -> Cases:
    words, vectors = tokens(41, 32), series(32, 32)
    base: dict[str, Any] = {"dim": 32, "depth": 1, "heads": 4, "dim_head": 8, "bucket_size": 4, "n_hashes": 2}
    base |= {"ff_chunks": 2}
    lm = "reformer_pytorch:ReformerLM"
    return in_training_only(
        {
            "language model": case(lm, words, num_tokens=41, max_seq_len=32, **base),
            "causal": case(lm, words, num_tokens=41, max_seq_len=32, causal=True, **base),
            "full attention": case(lm, words, num_tokens=41, max_seq_len=32, use_full_attn=True, **base),
            "full causal attention": case(
                lm, words, num_tokens=41, max_seq_len=32, use_full_attn=True, causal=True, **base
            ),
            "rezero": case(lm, words, num_tokens=41, max_seq_len=32, use_rezero=True, full_attn_thres=64, **base),
            "with glu": case(lm, words, num_tokens=41, max_seq_len=32, ff_glu=True, full_attn_thres=64, **base),
            "scalenorm": case(
                lm, words, num_tokens=41, max_seq_len=32, use_scale_norm=True, full_attn_thres=64, **base
            ),
            "reformer": case("reformer_pytorch:Reformer", vectors, full_attn_thres=64, **base),
            "full query-key attention": case(
                "reformer_pytorch.reformer_pytorch:FullQKAttention",
                both(series(12, 8, other=9), series(12, 8, other=9)),
            ),
        }
    )


def local_attention() -> Cases:
    words, vectors = tokens(41, 16, other=11), series(16, 32)
    heads = both(*[images(4, 16, 8)] * 3)
    base: dict[str, Any] = {"dim": 32, "window_size": 4, "dim_head": 8, "heads": 4}
    text: dict[str, Any] = {"num_tokens": 41, "max_seq_len": 16, "dim": 32, "depth": 2, "heads": 4, "dim_head": 8}
    return {
        "attention": case("local_attention:LocalAttention", heads, dim=8, window_size=4),
        "causal attention": case("local_attention:LocalAttention", heads, dim=8, window_size=4, causal=True),
        "exact window": case(
            "local_attention:LocalAttention", heads, dim=8, window_size=4, causal=True, exact_windowsize=True
        ),
        "with padding": case(
            "local_attention:LocalAttention", both(*[images(4, 16, 8, other=(4, 13, 8))] * 3), dim=8, window_size=4,
            autopad=True,
        ),
        "several heads": case("local_attention.transformer:LocalMHA", vectors, **base),
        "query-key norm": case("local_attention.transformer:LocalMHA", vectors, qk_rmsnorm=True, causal=True, **base),
        "gates": case("local_attention.transformer:LocalMHA", vectors, gate_values_per_head=True, **base),
        "transformer": case("local_attention:LocalTransformer", words, local_attn_window_size=4, **text),
        "xpos": case("local_attention:LocalTransformer", words, local_attn_window_size=4, use_xpos=True, **text),
        "position bias": case(
            "local_attention:LocalTransformer", words, local_attn_window_size=4, use_dynamic_pos_bias=True, **text
        ),
    }  # fmt: skip


def nystrom_attention() -> Cases:
    vectors = series(16, 32, other=12)
    base: dict[str, Any] = {"dim": 32, "heads": 4, "dim_head": 8, "num_landmarks": 4, "pinv_iterations": 3}
    return {
        "attention": case("nystrom_attention:NystromAttention", vectors, **base),
        "with dropout": case("nystrom_attention:NystromAttention", vectors, dropout=0.1, **base),
        "transformer": case("nystrom_attention:Nystromformer", vectors, depth=2, **base),
    }


def memory_efficient_attention_pytorch() -> Cases:
    root = "memory_efficient_attention_pytorch"
    words, vectors = tokens(41, 16, other=11), series(16, 32, other=11)
    base: dict[str, Any] = {"dim": 32, "heads": 4, "dim_head": 8}
    small: dict[str, Any] = {"q_bucket_size": 4, "k_bucket_size": 8}
    cosine = f"{root}.memory_efficient_cosine_sim_attention:CosineSimAttention"
    return in_training_only({
        "attention": case(f"{root}:Attention", vectors, **base),
        "in buckets": case(f"{root}:Attention", vectors, memory_efficient=True, **small, **base),
        "causal": case(f"{root}:Attention", vectors, causal=True, **base),
        "causal in buckets": case(f"{root}:Attention", vectors, causal=True, memory_efficient=True, **small, **base),
        "cosine": case(cosine, series(16, 32), seq_len=16, **base),
        "cosine, causal": case(cosine, series(16, 32), seq_len=16, causal=True, **base),
        "transformer": case(
            f"{root}.transformer:Transformer", words, num_tokens=41, max_seq_len=16, depth=2, use_flash_attn=False,
            **base,
        ),
    })  # fmt: skip


def colt5_attention() -> Cases:
    vectors = series(16, 32, other=12)
    heavy: dict[str, Any] = {"num_heavy_tokens_q": 4, "num_heavy_tokens_kv": 4, "light_dim_head": 8, "light_heads": 2}
    heavy |= {"light_window_size": 4, "heavy_dim_head": 8, "heavy_heads": 2}
    return {
        "feed-forward": case("colt5_attention:ConditionalRoutedFeedForward", vectors, dim=32, num_heavy_tokens=4),
        "attention": case("colt5_attention:ConditionalRoutedAttention", vectors, dim=32, **heavy),
        "autoregressive": case(
            "colt5_attention:ConditionalRoutedAutoregressiveAttention", vectors, dim=32, heavy_window_size=4, **heavy
        ),
        "block": case(
            "colt5_attention:ConditionalRoutedTransformerBlock", vectors, dim=32, num_heavy_attn_tokens_q=4,
            num_heavy_attn_tokens_kv=4, num_heavy_ff_tokens=4, light_dim_head=8, light_heads=2, light_window_size=4,
            heavy_dim_head=8, heavy_heads=2,
        ),
        "attend": case("colt5_attention.attend:Attend", both(*[images(4, 12, 8, other=(4, 9, 8))] * 3)),
        "self-attention": case(
            "colt5_attention.transformer_block:SelfAttention", vectors, dim=32, dim_head=8, heads=4, prenorm=True
        ),
    }  # fmt: skip


def st_moe_pytorch() -> Cases:
    vectors = series(16, 32, other=12)
    base: dict[str, Any] = {"dim": 32, "num_experts": 4, "gating_top_n": 2}
    return {
        "mixture": case("st_moe_pytorch:MoE", vectors, **base),
        "block": Case(
            lambda: found("st_moe_pytorch:SparseMoEBlock")(
                found("st_moe_pytorch:MoE")(**base), add_ff_before=True, add_ff_after=True
            ),
            vectors,
        ),
    }


def soft_moe_pytorch() -> Cases:
    vectors = series(16, 32, other=12)
    root = "soft_moe_pytorch"
    base: dict[str, Any] = {"dim": 32, "num_experts": 4}
    return {
        "mixture": case(f"{root}:SoftMoE", vectors, seq_len=16, **base),
        "gated experts": case(f"{root}:SoftMoE", vectors, seq_len=16, geglu=True, **base),
        "dynamic slots": case(f"{root}:DynamicSlotsSoftMoE", vectors, **base),
        "dynamic slots, gated": case(f"{root}:DynamicSlotsSoftMoE", vectors, geglu=True, **base),
    }


def tab_transformer_pytorch() -> Cases:
    base: dict[str, Any] = {"categories": (5, 3, 4), "num_continuous": 6, "dim": 16, "depth": 2, "heads": 4}
    base |= {"dim_head": 8, "dim_out": 2}
    row = both(numbers(3, 3), images(6))
    return {
        "tab transformer": case("tab_transformer_pytorch:TabTransformer", row, mlp_act=torch.nn.ReLU(), **base),
        "with dropout": case(
            "tab_transformer_pytorch:TabTransformer",
            row,
            mlp_act=torch.nn.ReLU(),
            attn_dropout=0.1,
            ff_dropout=0.1,
            **base,
        ),
        "ft transformer": case("tab_transformer_pytorch:FTTransformer", row, **base),
        "ft transformer, dropout": case(
            "tab_transformer_pytorch:FTTransformer", row, attn_dropout=0.1, ff_dropout=0.1, **base
        ),
    }


def vector_quantize_pytorch() -> Cases:
    vectors, root = series(12, 16, other=9), "vector_quantize_pytorch"
    base: dict[str, Any] = {"dim": 16, "codebook_size": 20}
    return {
        "plain": case(f"{root}:VectorQuantize", vectors, **base),
        "cosine": case(f"{root}:VectorQuantize", vectors, use_cosine_sim=True, **base),
        "heads": case(f"{root}:VectorQuantize", vectors, heads=4, separate_codebook_per_head=True, **base),
        "orthogonal": case(f"{root}:VectorQuantize", vectors, orthogonal_reg_weight=10, **base),
        "learned": case(f"{root}:VectorQuantize", vectors, learnable_codebook=True, ema_update=False, **base),
        "residual": case(f"{root}:ResidualVQ", vectors, num_quantizers=3, **base),
        "grouped residual": case(f"{root}:GroupedResidualVQ", vectors, num_quantizers=2, groups=2, **base),
        "random projection": case(
            f"{root}:RandomProjectionQuantizer", vectors, codebook_dim=8, num_codebooks=2, **base
        ),
        "finite scalar": case(f"{root}:FSQ", vectors, levels=[8, 5, 5], dim=16),
        "residual finite scalar": case(f"{root}:ResidualFSQ", vectors, dim=16, levels=[8, 5, 5], num_quantizers=2),
        "lookup free": case(f"{root}:LFQ", vectors, codebook_size=64, dim=16),
        "residual lookup free": case(f"{root}:ResidualLFQ", vectors, dim=16, codebook_size=64, num_quantizers=2),
        "latent": case(f"{root}:LatentQuantize", images(16, 4, 4), levels=[5, 5, 8], dim=16),
        "similar": case(f"{root}:SimVQ", vectors, **base),
        "residual similar": case(f"{root}:ResidualSimVQ", vectors, num_quantizers=2, **base),
    }


def denoising_diffusion_pytorch() -> Cases:
    root, picture, steps = "denoising_diffusion_pytorch", images(3, 16, 16, other=(3, 32, 32)), numbers(100)
    base: dict[str, Any] = {"dim": 8, "dim_mults": (1, 2), "flash_attn": False}
    classes = both(numbers(5))
    return {
        "unet": case(f"{root}:Unet", both(picture, steps), **base),
        "unet, learned sinusoids": case(
            f"{root}:Unet", both(picture, steps), learned_sinusoidal_cond=True, attn_heads=2, attn_dim_head=8, **base
        ),
        "unet, self-conditioned": case(f"{root}:Unet", both(picture, steps, picture), self_condition=True, **base),
        "unet, one dimension": case(
            f"{root}:Unet1D", both(images(3, 32), steps), dim=8, dim_mults=(1, 2), channels=3
        ),
        "karras unet": case(
            f"{root}.karras_unet:KarrasUnet", both(images(4, 16, 16), numbers(100)), image_size=16, dim=16,
            dim_max=32, num_downsamples=2, num_blocks_per_stage=1, attn_res=(8,), attn_dim_head=8, attn_flash=False,
        ),
        "guided unet": case(
            f"{root}.classifier_free_guidance:Unet", both(picture, steps, classes), dim=8, dim_mults=(1, 2),
            num_classes=5, cond_drop_prob=0.0, attn_dim_head=8, attn_heads=2,
        ),
        "diffusion": Case(
            lambda: found(f"{root}:GaussianDiffusion")(
                found(f"{root}:Unet")(**base), image_size=16, timesteps=20
            ),
            lambda variant: (torch.rand(3 if variant else 2, 3, 16, 16),),
        ),
        "attention": case(
            f"{root}.denoising_diffusion_pytorch:Attention", images(16, 6, 6), dim=16, heads=2, dim_head=8
        ),
        "linear attention": case(
            f"{root}.denoising_diffusion_pytorch:LinearAttention", images(16, 6, 6), dim=16, heads=2, dim_head=8
        ),
        "attend": case(
            f"{root}.attend:Attend", both(*[images(2, 9, 8, other=(2, 7, 8))] * 3), flash=False
        ),
    }  # fmt: skip


def esm() -> Cases:
    """Language models of proteins; the letters of `ESM-1b` are 33, of which 1 stands for nothing and 32 is hidden."""

    def letters(variant: int) -> tuple[torch.Tensor]:
        text = torch.randint(4, 24, (3 if variant else 2, 9 if variant else 14))
        text[0, -3:] = 1
        text[:, 2] = 32
        return (text,)

    def alignments(variant: int) -> tuple[torch.Tensor]:
        return (torch.randint(4, 24, (3 if variant else 2, 4, 9 if variant else 12)),)

    def older(kind: str, architecture: str, **given: Any) -> Any:
        sizes = {"layers": 2, "num_layers": 2, "embed_dim": 32, "ffn_embed_dim": 48, "attention_heads": 4}
        rates = {"dropout": 0.1, "attention_dropout": 0.1, "activation_dropout": 0.1, "max_positions": 32}
        chosen = argparse.Namespace(arch=architecture, token_dropout=True, logit_bias=False, **sizes, **rates, **given)
        return found(f"esm:{kind}")(chosen, found("esm.data:Alphabet").from_architecture(architecture))

    def oldest() -> Any:
        model = older("ProteinBertModel", "protein_bert_base", final_bias=True)
        model.embed_positions._float_tensor.zero_()  # memory as it was found
        return model

    small = {"num_layers": 2, "embed_dim": 32, "attention_heads": 4}
    modules = "esm.modules"
    return {
        "ESM2": case("esm.model.esm2:ESM2", letters, **small),
        "ESM2, every token": case("esm.model.esm2:ESM2", letters, token_dropout=False, **small),
        "ESM-1b": Case(lambda: older("ProteinBertModel", "roberta_large"), letters),
        "ESM-1": Case(oldest, letters),
        "MSA transformer": Case(
            lambda: older("MSATransformer", "msa_transformer", max_tokens=2**14, embed_positions_msa=True,
                          embed_positions_msa_dim=32), alignments,
        ),
        "layer": case(f"{modules}:TransformerLayer", series(9, 32, other=7), embed_dim=32, ffn_embed_dim=48,
                      attention_heads=4, add_bias_kv=False),
        "layer, rotary": case(f"{modules}:TransformerLayer", series(9, 32, other=7), embed_dim=32, ffn_embed_dim=48,
                              attention_heads=4, add_bias_kv=False, use_rotary_embeddings=True),
        "head": case(f"{modules}:RobertaLMHead", series(9, 32, other=7), embed_dim=32, output_dim=33,
                     weight=torch.linspace(-1, 1, 33 * 32).view(33, 32)),
    }  # fmt: skip
