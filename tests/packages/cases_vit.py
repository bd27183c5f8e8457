"""vit-pytorch: every architecture by the arguments of its documentation, made small."""

from __future__ import annotations

from typing import Any

import torch
from cases import Case, Cases, case, fitting, found, images

USUAL: dict[str, Any] = {
    "image_size": 32,
    "patch_size": 8,
    "num_classes": 7,
    "dim": 32,
    "depth": 2,
    "heads": 4,
    "mlp_dim": 48,
    "dim_head": 8,
}
#: modules whose class takes the usual arguments, and what else it takes
PLAIN: dict[str, tuple[str, dict[str, Any]]] = {
    "vit": ("ViT", {"dropout": 0.1, "emb_dropout": 0.1}),
    "simple_vit": ("SimpleViT", {}),
    "deepvit": ("DeepViT", {"dropout": 0.1}),
    "cait": ("CaiT", {"cls_depth": 1, "layer_dropout": 0.05}),
    "ats_vit": ("ViT", {"max_tokens_per_depth": (12, 8)}),
    "attn_residual_with_dca_simple_vit": ("SimpleViT", {}),
    "jet_vit": ("JetViT", {"window_size": 3}),
    "learnable_memory_vit": ("ViT", {}),
    "look_vit": ("LookViT", {"image_size": 64, "patch_size": 16, "highres_patch_size": 8, "heads": 4}),
    "mp3": ("ViT", {}),
    "simple_vit_attn_residual": ("SimpleViTAttnResidual", {}),
    "normalized_vit": ("nViT", {}),
    "parallel_vit": ("ViT", {}),
    "pit": ("PiT", {"depth": (1, 1, 1), "image_size": 64, "heads": 2}),
    "rvt": ("RvT", {}),
    "simple_uvit": ("SimpleUViT", {}),
    "simple_vit_orthog_residual_update": ("SimpleViT", {}),
    "simple_vit_with_fft": ("SimpleViT", {"freq_patch_size": 8}),
    "simple_vit_with_hyper_connections": ("SimpleViT", {"num_residual_streams": 2}),
    "simple_vit_with_patch_dropout": ("SimpleViT", {}),
    "simple_vit_with_qk_norm": ("SimpleViT", {}),
    "simple_vit_with_register_tokens": ("SimpleViT", {}),
    "simple_vit_with_relative_proj_pos_bias": ("SimpleViT", {}),
    "simple_vit_with_sparse_gating": ("SimpleViTWithSparseGating", {}),
    "simple_vit_with_specialized_cls": ("SimpleViT", {}),
    "simple_vit_with_value_residual": ("SimpleViT", {}),
    "vat": ("ViT", {}),
    "vat_siglip": ("SigLIP", {}),
    "vit_5": ("ViT", {}),
    "vit_detpool": ("ViTDetPool", {}),
    "vit_for_small_dataset": ("ViT", {}),
    "vit_with_decorr": ("ViT", {}),
    "vit_with_keel_post_ln": ("ViT", {}),
    "vit_with_patch_dropout": ("ViT", {}),
    "vit_with_patch_merger": ("ViT", {"patch_merge_layer": 1, "patch_merge_num_tokens": 4}),
    "xcit": ("XCiT", {"cls_depth": 1}),
    "wwt": ("WWT", {"num_slots": 4}),
    "looped_vit": ("LoopedViT", {"pre_loop_depth": 1, "num_looped_blocks": 1, "post_loop_depth": 1, "loop_depth": 2}),
}
VIDEO: dict[str, Any] = {**USUAL, "image_patch_size": 8, "frames": 4, "frame_patch_size": 2}
FOUR = {"dim": (8, 16, 24, 32), "depth": (1, 1, 1, 1), "num_classes": 7}


def vit_pytorch() -> Cases:
    def of(path: str, inputs: Any, base: dict[str, Any] | None = None, **given: Any) -> Case:
        return fitting(f"vit_pytorch.{path}", USUAL if base is None else base, inputs, **given)

    picture = images(3, 32, 32)
    made = {
        f"{module}.{kind}": of(f"{module}:{kind}", images(3, *[more.get("image_size", 32)] * 2), **more)
        for module, (kind, more) in PLAIN.items()
    }
    video = images(3, 4, 32, 32)
    made |= {
        "cct.CCT": case(
            "vit_pytorch.cct:CCT",
            picture,
            img_size=(32, 32),
            embedding_dim=32,
            num_layers=2,
            num_heads=4,
            n_conv_layers=2,
            kernel_size=7,
            stride=2,
            padding=3,
            pooling_kernel_size=3,
            pooling_stride=2,
            pooling_padding=1,
            num_classes=7,
            positional_embedding="learnable",
            mlp_ratio=2.0,
        ),
        "cct_3d.CCT": case(
            "vit_pytorch.cct_3d:CCT",
            images(3, 4, 32, 32),
            img_size=32,
            num_frames=4,
            embedding_dim=32,
            n_conv_layers=2,
            frame_kernel_size=3,
            kernel_size=7,
            stride=2,
            padding=3,
            pooling_kernel_size=3,
            pooling_stride=2,
            pooling_padding=1,
            num_layers=2,
            num_heads=4,
            mlp_ratio=2.0,
            num_classes=7,
            positional_embedding="learnable",
        ),
        "cross_vit.CrossViT": of(
            "cross_vit:CrossViT",
            images(3, 64, 64),
            image_size=64,
            sm_dim=16,
            lg_dim=32,
            depth=1,
            sm_patch_size=8,
            lg_patch_size=16,
            sm_enc_heads=2,
            lg_enc_heads=2,
            lg_enc_depth=1,
            sm_enc_mlp_dim=32,
            lg_enc_mlp_dim=32,
            cross_attn_depth=1,
            cross_attn_heads=2,
        ),
        "cvt.CvT": of(
            "cvt:CvT",
            images(3, 64, 64, other=(3, 96, 96)),
            {},
            num_classes=7,
            s1_emb_dim=16,
            s2_emb_dim=32,
            s3_emb_dim=32,
            s2_heads=2,
            s3_heads=2,
            s2_depth=1,
            s3_depth=2,
        ),
        "levit.LeViT": of(
            "levit:LeViT",
            images(3, 64, 64),
            image_size=64,
            stages=2,
            dim=(16, 32),
            depth=1,
            heads=(2, 4),
            mlp_mult=2,
            dim_key=8,
            dim_value=16,
            dropout=0.1,
        ),
        "max_vit.MaxViT": of(
            "max_vit:MaxViT", images(3, 64, 64), dim_conv_stem=8, dim=8, dim_head=8, depth=(1, 1), window_size=4
        ),
        "max_vit_with_registers.MaxViT": of(
            "max_vit_with_registers:MaxViT",
            images(3, 64, 64),
            dim_conv_stem=8,
            dim=8,
            dim_head=8,
            depth=(1, 1),
            window_size=4,
        ),
        "mobile_vit.MobileViT": of(
            "mobile_vit:MobileViT",
            images(3, 64, 64),
            {},
            image_size=(64, 64),
            dims=[16, 24, 32],
            channels=[8, 8, 12, 12, 16, 16, 24, 24, 32, 32, 48],
            num_classes=7,
            depths=(1, 1, 1),
        ),
        "nest.NesT": of("nest:NesT", images(3, 32, 32), patch_size=4, num_hierarchies=2, block_repeats=(1, 1)),
        "regionvit.RegionViT": of("regionvit:RegionViT", images(3, 64, 64), FOUR, window_size=2),
        "scalable_vit.ScalableViT": of(
            "scalable_vit:ScalableViT",
            images(3, 64, 64),
            {},
            num_classes=7,
            dim=16,
            heads=(2, 2, 4, 4),
            depth=(1, 1, 1, 1),
            ssa_dim_key=(8, 8, 8, 8),
            reduction_factor=(8, 4, 2, 1),
            window_size=(16, 8, None, None),
        ),
        "sep_vit.SepViT": of("sep_vit:SepViT", images(3, 64, 64), dim=16, depth=(1, 1), heads=(2, 2), window_size=4),
        "t2t.T2TViT": of("t2t:T2TViT", images(3, 32, 32), t2t_layers=((7, 4), (3, 2))),
        "twins_svt.TwinsSVT": of(
            "twins_svt:TwinsSVT",
            images(3, 64, 64),
            {},
            num_classes=7,
            s1_emb_dim=8,
            s1_local_patch_size=4,
            s1_global_k=4,
            s2_emb_dim=16,
            s2_local_patch_size=4,
            s2_global_k=4,
            s3_emb_dim=24,
            s3_local_patch_size=4,
            s3_global_k=4,
            s3_depth=1,
            s4_emb_dim=32,
            s4_local_patch_size=2,
            s4_global_k=2,
            s4_depth=1,
        ),
        "vit_1d.ViT": of("vit_1d:ViT", images(3, 64), seq_len=64),
        "simple_vit_1d.SimpleViT": of("simple_vit_1d:SimpleViT", images(3, 64), seq_len=64),
        "vit_3d.ViT": of("vit_3d:ViT", video, VIDEO),
        "simple_vit_3d.SimpleViT": of("simple_vit_3d:SimpleViT", video, VIDEO),
        "vivit.ViViT": of("vivit:ViViT", video, VIDEO, spatial_depth=1, temporal_depth=1, use_flash_attn=False),
        "vivit.ViViT factorized": of(
            "vivit:ViViT",
            video,
            VIDEO,
            spatial_depth=1,
            temporal_depth=1,
            variant="factorized_self_attention",
            use_flash_attn=False,
        ),
        "vivit_with_moss.ViViT": of(
            "vivit_with_moss:ViViT", video, VIDEO, spatial_depth=1, temporal_depth=1, use_flash_attn=False
        ),
        "na_vit.NaViT": of("na_vit:NaViT", _loose),
        "efficient.ViT": Case(_efficient, picture),
        "distill.DistillableViT": case("vit_pytorch.distill:DistillableViT", picture, **USUAL),
        "learnable_memory_vit.Adapter": Case(_adapter, picture),
    }
    return made  # fmt: skip


def _loose(variant: int) -> Any:
    sizes = ((32, 32), (24, 16)) if not variant else ((16, 16), (8, 24), (32, 16))
    return ([[torch.randn(3, *size) for size in sizes]],)


def _efficient() -> Any:
    inner = found("nystrom_attention:Nystromformer")(dim=32, depth=1, heads=4, dim_head=8, num_landmarks=4)
    return found("vit_pytorch.efficient:ViT")(dim=32, image_size=32, patch_size=8, num_classes=7, transformer=inner)


def _adapter() -> Any:
    vit = found("vit_pytorch.learnable_memory_vit:ViT")(**USUAL)
    return found("vit_pytorch.learnable_memory_vit:Adapter")(vit=vit, num_classes=3, num_memories_per_layer=2)
