"""diffusers: models and blocks by the arguments of its tests, made small; transformers: every type that is built small."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import torch
from cases import Case, Cases, both, case, images, named, numbers, series


def diffusers() -> Cases:
    root, steps = "diffusers", numbers(100)
    sample, words = images(4, 16, 16), series(5, 32, other=7)
    guided = named(sample=sample, timestep=steps, encoder_hidden_states=words)
    unet: dict[str, Any] = {"block_out_channels": (8, 16), "layers_per_block": 1, "norm_num_groups": 4}
    cross: dict[str, Any] = {**unet, "cross_attention_dim": 32, "attention_head_dim": 8, "sample_size": 16}
    downs = ("CrossAttnDownBlock2D", "DownBlock2D")
    ups = ("UpBlock2D", "CrossAttnUpBlock2D")
    kl: dict[str, Any] = {**unet, "in_channels": 3, "out_channels": 3, "latent_channels": 4}
    former: dict[str, Any] = {"num_attention_heads": 2, "attention_head_dim": 16, "in_channels": 4, "num_layers": 2}
    attend = "diffusers.models.attention"
    picture = images(3, 16, 16)
    return {
        "UNet2DConditionModel": case(f"{root}:UNet2DConditionModel", guided, down_block_types=downs,
                                     up_block_types=ups, **cross),
        "UNet2DConditionModel, linear": case(f"{root}:UNet2DConditionModel", guided, down_block_types=downs,
                                             up_block_types=ups, use_linear_projection=True, **cross),
        "UNet2DModel": case(f"{root}:UNet2DModel", named(sample=picture, timestep=steps), sample_size=16,
                            down_block_types=("DownBlock2D", "AttnDownBlock2D"), attention_head_dim=8,
                            up_block_types=("AttnUpBlock2D", "UpBlock2D"), **unet),
        "UNet1DModel": case(f"{root}:UNet1DModel", named(sample=images(14, 16), timestep=steps), in_channels=14,
                            out_channels=14, sample_size=16, down_block_types=("DownResnetBlock1D",) * 2,
                            up_block_types=("UpResnetBlock1D",), block_out_channels=(8, 16), extra_in_channels=0,
                            time_embedding_type="positional", out_block_type="OutConv1DBlock", act_fn="swish",
                            use_timestep_embedding=True, layers_per_block=1, norm_num_groups=8,
                            mid_block_type="MidResTemporalBlock1D"),
        "AutoencoderKL": case(f"{root}:AutoencoderKL", picture, down_block_types=("DownEncoderBlock2D",) * 2,
                              up_block_types=("UpDecoderBlock2D",) * 2, **kl),
        "AsymmetricAutoencoderKL": case(
            f"{root}:AsymmetricAutoencoderKL", picture, in_channels=3, out_channels=3, latent_channels=4,
            down_block_types=("DownEncoderBlock2D",), down_block_out_channels=(8,), layers_per_down_block=1,
            up_block_types=("UpDecoderBlock2D",), up_block_out_channels=(8,), layers_per_up_block=1, norm_num_groups=4),
        "VQModel": case(f"{root}:VQModel", picture, block_out_channels=(8, 16), in_channels=3, out_channels=3,
                        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
                        latent_channels=3, norm_num_groups=4, num_vq_embeddings=16),
        "AutoencoderTiny": case(f"{root}:AutoencoderTiny", picture, encoder_block_out_channels=(8, 8),
                                decoder_block_out_channels=(8, 8), num_encoder_blocks=(1, 1),
                                num_decoder_blocks=(1, 1)),
        "DiTTransformer2DModel": case(
            f"{root}:DiTTransformer2DModel",
            named(hidden_states=images(4, 8, 8), timestep=steps, class_labels=numbers(10)), out_channels=8,
            sample_size=8, patch_size=2, num_embeds_ada_norm=10, **former),
        "PixArtTransformer2DModel": case(
            f"{root}:PixArtTransformer2DModel",
            named(hidden_states=images(4, 8, 8), timestep=steps, encoder_hidden_states=series(5, 24, other=7),
                  added_cond_kwargs=lambda variant: ({"resolution": None, "aspect_ratio": None},)),
            out_channels=8, sample_size=8, patch_size=2, caption_channels=24, cross_attention_dim=32,
            use_additional_conditions=False, **former),
        "Transformer2DModel": case(f"{root}:Transformer2DModel", named(hidden_states=images(4, 8, 8)),
                                   norm_num_groups=2, sample_size=8, **former),
        "SD3Transformer2DModel": case(
            f"{root}:SD3Transformer2DModel",
            named(hidden_states=images(4, 8, 8), timestep=steps, encoder_hidden_states=series(5, 24, other=7),
                  pooled_projections=images(20)),
            sample_size=8, patch_size=2, in_channels=4, num_layers=2, attention_head_dim=8, num_attention_heads=4,
            joint_attention_dim=24, caption_projection_dim=32, pooled_projection_dim=20, out_channels=4),
        "HunyuanDiT2DModel": case(
            f"{root}:HunyuanDiT2DModel", _hunyuan, sample_size=8, patch_size=2, in_channels=4, num_layers=2,
            attention_head_dim=8, num_attention_heads=3, cross_attention_dim=8, cross_attention_dim_t5=8,
            pooled_projection_dim=4, hidden_size=24, text_len=4, text_len_t5=4, activation_fn="gelu-approximate"),
        "FluxTransformer2DModel": case(
            f"{root}:FluxTransformer2DModel", _flux, patch_size=1, in_channels=4, num_layers=1, num_single_layers=1,
            attention_head_dim=16, num_attention_heads=2, joint_attention_dim=32, pooled_projection_dim=32,
            axes_dims_rope=[4, 4, 8]),
        "PriorTransformer": case(
            f"{root}:PriorTransformer", _prior, num_attention_heads=2, attention_head_dim=8, num_layers=2,
             embedding_dim=16, num_embeddings=5, additional_embeddings=4),
        "T5FilmDecoder": case(f"{root}:T5FilmDecoder", _film, input_dims=8, targets_length=6, d_model=16, num_layers=1,
                              num_heads=2, d_kv=8, d_ff=24),
        "StableCascadeUNet": case(
            f"{root}:StableCascadeUNet", _cascade, in_channels=4, out_channels=4, timestep_ratio_embedding_dim=16,
            patch_size=1, conditioning_dim=16, block_out_channels=(16, 32), num_attention_heads=(2, 2),
            down_num_layers_per_block=(1, 1), up_num_layers_per_block=(1, 1), down_blocks_repeat_mappers=(1, 1),
            up_blocks_repeat_mappers=(1, 1), block_types_per_layer=(("SDCascadeResBlock", "SDCascadeAttnBlock"),) * 2,
            clip_text_in_channels=None, clip_text_pooled_in_channels=16, clip_image_in_channels=None, clip_seq=2,
            dropout=(0.1, 0.1), self_attn=True, timestep_conditioning_type=("sca",)),
        "BasicTransformerBlock": case(f"{attend}:BasicTransformerBlock", series(9, 32, other=7), dim=32,
                                      num_attention_heads=4, attention_head_dim=8),
        "BasicTransformerBlock, geglu": case(f"{attend}:BasicTransformerBlock", series(9, 32, other=7), dim=32,
                                             num_attention_heads=4, attention_head_dim=8, activation_fn="geglu",
                                             dropout=0.1),
        **{
            f"FeedForward, {kind}": case(f"{attend}:FeedForward", series(9, 32), dim=32, activation_fn=kind)
            for kind in ("gelu", "gelu-approximate", "geglu", "geglu-approximate", "swiglu", "linear-silu")
        },
        "Attention": case("diffusers.models.attention_processor:Attention", series(9, 32, other=7), query_dim=32,
                          heads=4, dim_head=8, qk_norm="rms_norm"),
        "RMSNorm": case("diffusers.models.normalization:RMSNorm", series(9, 32), dim=32, eps=1e-6),
        "AdaLayerNormZero": case("diffusers.models.normalization:AdaLayerNormZero",
                                 lambda variant: {"x": torch.randn(2, 9, 32), "emb": torch.randn(2, 32)},
                                 embedding_dim=32),
        "ResnetBlock2D": case("diffusers.models.resnet:ResnetBlock2D", both(images(8, 9, 9), images(16)),
                              in_channels=8, out_channels=12, temb_channels=16, groups=4),
        "VaeImageEncoder": case("diffusers.models.autoencoders.vae:Encoder", picture, block_out_channels=(8, 16),
                                down_block_types=("DownEncoderBlock2D",) * 2, norm_num_groups=4, layers_per_block=1),
        "LatteTransformer3DModel": case(
            f"{root}:LatteTransformer3DModel",
            named(hidden_states=images(4, 2, 8, 8), timestep=steps, encoder_hidden_states=series(5, 8)), sample_size=8,
            patch_size=2, caption_channels=8, cross_attention_dim=32, out_channels=8, norm_type="ada_norm_single",
            video_length=2, **former),
    }  # fmt: skip


def _prior(variant: int) -> Any:
    batch = 2 + variant
    return {
        "hidden_states": torch.randn(batch, 16),
        "timestep": 2 + variant,
        "proj_embedding": torch.randn(batch, 16),
        "encoder_hidden_states": torch.randn(batch, 5, 16),
    }


def _film(variant: int) -> Any:
    batch = 2 + variant
    pairs = [(torch.randn(batch, 5, 16), torch.ones(batch, 5))]
    return {
        "encodings_and_masks": pairs,
        "decoder_input_tokens": torch.randn(batch, 6, 8),
        "decoder_noise_time": torch.rand(batch),
    }


def _flux(variant: int) -> Any:
    words = 7 if variant else 5
    return {
        "hidden_states": torch.randn(2, 16, 4),
        "encoder_hidden_states": torch.randn(2, words, 32),
        "pooled_projections": torch.randn(2, 32),
        "timestep": torch.rand(2),
        "img_ids": torch.randint(0, 4, (16, 3)),
        "txt_ids": torch.zeros(words, 3, dtype=torch.long),
    }


def _hunyuan(variant: int) -> Any:
    batch = 2
    return {
        "hidden_states": torch.randn(batch, 4, 8, 8),
        "timestep": torch.randint(0, 100, (batch,)).float(),
        "encoder_hidden_states": torch.randn(batch, 4, 8),
        "text_embedding_mask": torch.ones(batch, 4),
        "encoder_hidden_states_t5": torch.randn(batch, 4, 8),
        "text_embedding_mask_t5": torch.ones(batch, 4),
        "image_meta_size": torch.tensor([[1024, 1024, 1024, 1024, 0, 0]] * batch).float(),
        "style": torch.zeros(batch, dtype=torch.long),
        "image_rotary_emb": [torch.randn(16, 8), torch.randn(16, 8)],
    }


def _cascade(variant: int) -> Any:
    batch = 2 + variant
    pooled = torch.randn(batch, 1, 16)
    return {"sample": torch.randn(batch, 4, 8, 8), "timestep_ratio": torch.rand(batch), "clip_text_pooled": pooled}


def transformers() -> Cases:
    """Every model type that `benchmarks/tiny_models.py` builds."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
    tiny = importlib.import_module("tiny_models")

    def of(name: str) -> Case:
        held: list[Any] = []

        def make() -> Any:
            model, inputs = tiny.build(name)
            held[:] = [inputs]
            return model

        return Case(make, lambda variant: held[0])

    return {name: of(name) for name in tiny.NAMES if name != tiny.ACTIVATIONS}
