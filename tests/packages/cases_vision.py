"""Packages of image models: timm, torchvision, segmentation models, CLIP, MONAI, kornia and others, made small."""

from __future__ import annotations

import importlib
import re
from typing import Any

import torch
from cases import Case, Cases, both, case, found, images, named, numbers, tokens

SIZES = (64, 96, 128, 160, 224, 256)
#: words of names, smallest models first
SMALL = (
    "test",
    "atto",
    "femto",
    "pico",
    "nano",
    "micro",
    "mini",
    "tiny",
    "xxs",
    "xx_small",
    "_t0",
    "lite",
    "extra_small",
)
SMALL = (*SMALL, "x_small", "xs", "small", "_s", "18", "_0", "b0", "22", "26", "50", "base")


class Pictured:
    """A classifier of images and the smallest picture that it takes, found by trying."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.size = SIZES[0]

    def make(self) -> Any:
        create = found("timm:create_model")
        problem: Exception | None = None
        for size in SIZES:
            for more in ({"img_size": size}, {}):
                try:
                    model = create(self.name, pretrained=False, num_classes=7, **more)
                    with torch.no_grad():
                        model.eval()(torch.randn(1, 3, size, size))
                except Exception as error:
                    problem = error
                    continue
                self.size = size
                return model
        raise problem or RuntimeError(self.name)

    def inputs(self, variant: int) -> Any:
        return images(3, self.size, self.size)(variant)


def timm() -> Cases:
    """The smallest model of every family (one file is one family), two of those with many models."""
    library = importlib.import_module("timm")
    chosen: dict[str, Case] = {}
    for module in library.list_modules():
        names = sorted(library.list_models(module=module), key=_smallness)
        for name in names[: 2 if len(names) > 25 else 1]:
            one = Pictured(name)
            chosen[name] = Case(one.make, one.inputs)
    return chosen


def _smallness(name: str) -> tuple[int, int, str]:
    rank = next((place for place, word in enumerate(SMALL) if re.search(rf"{word}(?!\d)", name)), len(SMALL))
    return rank, sum(int(number) for number in re.findall(r"\d+", name)), name


def torchvision() -> Cases:
    plain = "alexnet convnext_tiny densenet121 efficientnet_b0 efficientnet_v2_s googlenet mnasnet0_5 mobilenet_v2 "
    plain += "mobilenet_v3_small regnet_y_400mf regnet_x_400mf resnet18 resnext50_32x4d shufflenet_v2_x0_5 "
    plain += "squeezenet1_0 squeezenet1_1 swin_t swin_v2_t vgg11_bn wide_resnet50_2"
    of = "torchvision.models:get_model"
    picture = images(3, 64, 64, other=(3, 96, 96))

    def classifier(name: str) -> Case:
        more = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
        return case(of, picture, name=name, weights=None, num_classes=7, **more)

    made = {name: classifier(name) for name in plain.split()}
    segmenters = "deeplabv3_mobilenet_v3_large lraspp_mobilenet_v3_large fcn_resnet50"
    made |= {
        name: case(of, picture, name=name, weights=None, weights_backbone=None, num_classes=5)
        for name in segmenters.split()
    }
    video = images(3, 4, 32, 32, other=(3, 6, 48, 48))
    made |= {
        name: case(of, video, name=name, weights=None, num_classes=5) for name in ("r3d_18", "mc3_18", "r2plus1d_18")
    }
    vit: dict[str, Any] = {"image_size": 32, "patch_size": 8, "num_layers": 2, "num_heads": 4, "hidden_dim": 32}
    return made | {
        "VisionTransformer": case(
            "torchvision.models:VisionTransformer", images(3, 32, 32), mlp_dim=48, num_classes=7, dropout=0.1, **vit
        ),
        "MaxVit": case(
            "torchvision.models:MaxVit", images(3, 64, 64), input_size=(64, 64), stem_channels=8, partition_size=2,
            block_channels=[8, 16], block_layers=[1, 1], head_dim=4, stochastic_depth_prob=0.0, num_classes=7,
        ),
        "swin3d_t": case(of, images(3, 4, 32, 32), name="swin3d_t", weights=None, num_classes=5),
        "raft_small": case(of, both(images(3, 128, 128), images(3, 128, 128)), name="raft_small", weights=None),
        "SqueezeExcitation": case(
            "torchvision.ops:SqueezeExcitation", images(8, 6, 6), input_channels=8, squeeze_channels=2
        ),
        "FeaturePyramidNetwork": case(
            "torchvision.ops:FeaturePyramidNetwork", _pyramid, in_channels_list=[4, 8], out_channels=6
        ),
        "Conv2dNormActivation": case("torchvision.ops:Conv2dNormActivation", images(3, 9, 9), in_channels=3, out_channels=6),
        "MLP": case("torchvision.ops:MLP", images(8), in_channels=8, hidden_channels=[16, 4], dropout=0.1),
    }  # fmt: skip


def _pyramid(variant: int) -> Any:
    return ({"a": torch.randn(2 + variant, 4, 12, 12), "b": torch.randn(2 + variant, 8, 6, 6)},)


def segmentation_models_pytorch() -> Cases:
    create, picture = "segmentation_models_pytorch:create_model", images(3, 64, 64)
    sizes = {"pan": images(3, 128, 128)}  # it pools what an encoder leaves of the picture three times
    kinds = "unet unetplusplus manet linknet fpn pspnet deeplabv3 deeplabv3plus pan upernet segformer"
    encoders = "resnet18 mobilenet_v2 efficientnet-b0 mit_b0 densenet121 mobileone_s0 vgg11_bn timm-regnetx_002 "
    encoders += "xception timm-mobilenetv3_small_minimal_100 tu-resnet10t tu-convnext_atto timm-resnest14d dpn68"
    made = {
        f"{kind}, resnet18": case(
            create, sizes.get(kind, picture), arch=kind, encoder_name="resnet18", encoder_weights=None, classes=3
        )
        for kind in kinds.split()
    }
    made |= {
        f"unet, {name}": case(create, picture, arch="unet", encoder_name=name, encoder_weights=None, classes=3)
        for name in encoders.split()
    }
    made["unet, scse"] = case(
        create, picture, arch="unet", encoder_name="resnet18", encoder_weights=None, classes=3,
        decoder_attention_type="scse",
    )  # fmt: skip
    losses = "segmentation_models_pytorch.losses"
    pair = both(images(1, 8, 8), lambda variant: (torch.randint(0, 2, (2 + variant, 1, 8, 8)).float(),))
    return made | {
        "DiceLoss": case(f"{losses}:DiceLoss", pair, mode="binary"),
        "JaccardLoss": case(f"{losses}:JaccardLoss", pair, mode="binary"),
        "FocalLoss": case(f"{losses}:FocalLoss", pair, mode="binary"),
        "TverskyLoss": case(f"{losses}:TverskyLoss", pair, mode="binary"),
        "SoftBCE": case(f"{losses}:SoftBCEWithLogitsLoss", pair, smooth_factor=0.1),
        "SoftCrossEntropy": case(
            f"{losses}:SoftCrossEntropyLoss", both(images(4, 8, 8), numbers(4, 8, 8)), smooth_factor=0.1
        ),
    }


def open_clip() -> Cases:
    text: dict[str, Any] = {"context_length": 12, "vocab_size": 49, "width": 32, "heads": 4, "layers": 2}
    vision: dict[str, Any] = {"image_size": 32, "patch_size": 8, "width": 32, "head_width": 8, "layers": 2}
    inputs = both(images(3, 32, 32), tokens(49, 12))

    def clip(kind: str = "CLIP", *, more: Any = None, seen: Any = None, said: Any = None) -> Case:
        given = {"embed_dim": 16, "vision_cfg": {**vision, **(seen or {})}, "text_cfg": {**text, **(said or {})}}
        return case(f"open_clip.model:{kind}", inputs, **given, **(more or {}))

    coca = {"embed_cls": True, "output_tokens": True}
    return {
        "clip": clip(),
        "clip, quick gelu": clip(more={"quick_gelu": True}),
        "clip, layer scale": clip(seen={"ls_init_value": 0.1}, said={"ls_init_value": 0.1}),
        "clip, patch dropout": clip(seen={"patch_dropout": 0.3}),
        "clip, pooled by attention": clip(seen={"attentional_pool": True, "attn_pooler_heads": 4}),
        "clip, averaged": clip(seen={"pool_type": "avg", "final_ln_after_pool": True, "no_ln_pre": True}),
        "clip, sine positions": clip(seen={"pos_embed_type": "sin_cos_2d"}),
        "clip, text by last": clip(said={"pool_type": "last", "no_causal_mask": True}),
        "clip, logit bias": clip(more={"init_logit_bias": -10.0, "output_dict": True}),
        "clip, resnet": clip(seen={"layers": [1, 1, 1, 1], "width": 8, "patch_size": None, "head_width": 8}),
        "clip, timm": clip(seen={"timm_model_name": "test_vit", "timm_pool": "avg", "timm_proj": "linear"}),
        "custom text clip": clip("CustomTextCLIP"),
        "custom text clip, bias": clip("CustomTextCLIP", said={"proj_bias": True, "pool_type": "none"}),
        "coca": Case(
            lambda: found("open_clip.coca_model:CoCa")(
                embed_dim=16,
                multimodal_cfg={**text, "width": 32, "attn_pooler_heads": 4, "mlp_ratio": 2},
                text_cfg={**text, **coca},
                vision_cfg={**vision, "attentional_pool": True, "attn_pooler_heads": 4, "output_tokens": True},
            ),
            inputs,
        ),
        "residual attention block": case(
            "open_clip.transformer:ResidualAttentionBlock", images(9, 32, other=(7, 32)), d_model=32, n_head=4
        ),
        "custom residual block": case(
            "open_clip.transformer:CustomResidualAttentionBlock", images(9, 32, other=(7, 32)), d_model=32, n_head=4,
            scale_cosine_attn=True, scale_heads=True, scale_attn=True, scale_fc=True,
        ),
        "attention": case(
            "open_clip.transformer:Attention", images(9, 32, other=(7, 32)), dim=32, num_heads=4, scaled_cosine=True
        ),
        "plain attention": case("open_clip.transformer:Attention", images(9, 32, other=(7, 32)), dim=32, num_heads=4),
    }  # fmt: skip


def monai() -> Cases:
    nets, two = "monai.networks.nets", images(1, 32, 32, other=(1, 64, 64))
    volume = images(1, 32, 32, 32)
    flat: dict[str, Any] = {"spatial_dims": 2, "in_channels": 1, "out_channels": 2}
    stages: dict[str, Any] = {"channels": (4, 8, 16), "strides": (2, 2)}
    coded: dict[str, Any] = {**stages, "strides": (2, 2, 2)}
    blocks, flow = "monai.networks.blocks", named(x=images(1, 16, 16), timesteps=numbers(100))
    vit: dict[str, Any] = {"hidden_size": 32, "mlp_dim": 48, "num_heads": 4}
    return {
        "UNet": case(f"{nets}:UNet", two, num_res_units=2, dropout=0.1, **stages, **flat),
        "BasicUNet": case(f"{nets}:BasicUNet", two, features=(4, 4, 8, 8, 16, 4), **flat),
        "BasicUNetPlusPlus": case(f"{nets}:BasicUNetPlusPlus", two, features=(4, 4, 8, 8, 16, 4), **flat),
        "AttentionUnet": case(f"{nets}:AttentionUnet", two, **stages, **flat),
        "DynUNet": case(
            f"{nets}:DynUNet", two, kernel_size=[3, 3, 3], strides=[1, 2, 2], upsample_kernel_size=[2, 2],
            filters=[4, 8, 16], **flat,
        ),
        "SegResNet": case(f"{nets}:SegResNet", two, init_filters=8, **flat),
        "SegResNetDS": case(f"{nets}:SegResNetDS", two, init_filters=8, blocks_down=(1, 1, 1), **flat),
        "VNet": case(f"{nets}:VNet", images(1, 32, 32), dropout_prob_up=(0.1, 0.1), **flat),
        "UNETR": case(f"{nets}:UNETR", images(1, 32, 32), img_size=32, feature_size=4, **vit, **flat),
        "SwinUNETR": case(f"{nets}:SwinUNETR", images(1, 64, 64), feature_size=12, depths=(1, 1, 1, 1), **flat),
        "SwinUNETR v2": case(
            f"{nets}:SwinUNETR", images(1, 64, 64), feature_size=12, depths=(1, 1, 1, 1), use_v2=True, **flat
        ),
        "ViT": case(
            f"{nets}:ViT", images(1, 32, 32), in_channels=1, img_size=32, patch_size=8, num_layers=2, spatial_dims=2,
            classification=True, num_classes=3, qkv_bias=True, save_attn=True, **vit,
        ),
        "ViTAutoEnc": case(
            f"{nets}:ViTAutoEnc", images(1, 32, 32), in_channels=1, img_size=32, patch_size=4, num_layers=2,
            spatial_dims=2, **vit,
        ),
        "AutoEncoder": case(f"{nets}:AutoEncoder", two, **coded, **flat),
        "DenseNet": case(f"{nets}:DenseNet", two, init_features=8, growth_rate=4, block_config=(2, 2), **flat),
        "EfficientNetBN": case(
            f"{nets}:EfficientNetBN", two, model_name="efficientnet-b0", pretrained=False, spatial_dims=2,
            in_channels=1, num_classes=3,
        ),
        "ResNet": case(
            f"{nets}:resnet10", volume, spatial_dims=3, n_input_channels=1, num_classes=3
        ),
        "SENet": case(f"{nets}:SEResNet50", two, spatial_dims=2, in_channels=1, num_classes=3),
        "HighResNet": case(f"{nets}:HighResNet", two, **flat),
        "FlexibleUNet": case(
            f"{nets}:FlexibleUNet", two, in_channels=1, out_channels=2, backbone="efficientnet-b0"
        ),
        "AHNet": case(f"{nets}:AHNet", images(1, 128, 128), spatial_dims=2, in_channels=1, out_channels=2),
        "DiffusionModelUNet": case(
            f"{nets}:DiffusionModelUNet", flow, channels=(8, 16), attention_levels=(False, True), num_res_blocks=1,
            num_head_channels=8, norm_num_groups=4, **flat,
        ),
        "AutoencoderKL": case(
            f"{nets}:AutoencoderKL", images(1, 16, 16), channels=(8, 16), num_res_blocks=1, latent_channels=3,
            attention_levels=(False, True), norm_num_groups=4, **flat,
        ),
        "VQVAE": case(
            f"{nets}:VQVAE", images(1, 16, 16), channels=(8, 16), num_res_channels=8, num_res_layers=1,
            num_embeddings=16, embedding_dim=8, downsample_parameters=((2, 4, 1, 1), (2, 4, 1, 1)),
            upsample_parameters=((2, 4, 1, 1, 0), (2, 4, 1, 1, 0)), **flat,
        ),
        "DecoderOnlyTransformer": case(
            f"{nets}:DecoderOnlyTransformer", tokens(20, 12, other=9), num_tokens=20, max_seq_len=12,
            attn_layers_dim=32, attn_layers_depth=2, attn_layers_heads=4,
        ),
        "MILModel": case(f"{nets}:MILModel", images(3, 3, 32, 32), num_classes=2, mil_mode="att", pretrained=False),
        "SABlock": case(f"{blocks}.selfattention:SABlock", images(9, 32, other=(7, 32)), hidden_size=32, num_heads=4,
                        dropout_rate=0.1, save_attn=True),
        "SABlock, causal": case(f"{blocks}.selfattention:SABlock", images(9, 32), hidden_size=32, num_heads=4,
                                causal=True, sequence_length=9, use_flash_attention=False),
        "CrossAttentionBlock": case(
            f"{blocks}.crossattention:CrossAttentionBlock", both(images(9, 32), images(5, 32)), hidden_size=32,
            num_heads=4, dropout_rate=0.1,
        ),
        "SpatialAttentionBlock": case(
            f"{blocks}.spatialattention:SpatialAttentionBlock", images(8, 6, 6), spatial_dims=2, num_channels=8,
            num_head_channels=4, norm_num_groups=4,
        ),
        "Swish": case(f"{blocks}:Swish", images(7), alpha=1.3),
        "Mish": case(f"{blocks}:Mish", images(7)),
        "GEGLU": case(f"{blocks}.activation:GEGLU", images(8)),
        "DiceLoss": case("monai.losses:DiceLoss", both(images(1, 8, 8), images(1, 8, 8)), sigmoid=True),
        "FocalLoss": case("monai.losses:FocalLoss", both(images(2, 8, 8), images(2, 8, 8)), gamma=2.0),
        "SSIMLoss": case("monai.losses:SSIMLoss", both(images(1, 16, 16), images(1, 16, 16)), spatial_dims=2),
        "ContrastiveLoss": case("monai.losses:ContrastiveLoss", both(images(9), images(9))),
    }  # fmt: skip


def kornia() -> Cases:
    grey, colour = images(1, 32, 32), images(3, 32, 32, other=(3, 40, 48))
    patches = images(1, 32, 32)
    features = "kornia.feature"
    return {
        "HardNet": case(f"{features}:HardNet", patches, pretrained=False),
        "HardNet8": case(f"{features}:HardNet8", patches, pretrained=False),
        "SOSNet": case(f"{features}:SOSNet", patches, pretrained=False),
        "TFeat": case(f"{features}:TFeat", patches, pretrained=False),
        "HyNet": case(f"{features}:HyNet", patches, pretrained=False),
        "MKDDescriptor": case(f"{features}:MKDDescriptor", patches, patch_size=32, whitening=None),
        "SIFTDescriptor": case(f"{features}:SIFTDescriptor", patches, patch_size=32),
        "OriNet": case(f"{features}:OriNet", patches, pretrained=False),
        "LAFAffNetShapeEstimator": case(f"{features}.affine_shape:PatchAffineShapeEstimator", patches, patch_size=32),
        "KeyNet": case(f"{features}:KeyNet", grey, pretrained=False),
        "CornerHarris": case("kornia.feature:CornerHarris", grey, k=0.04),
        "CornerGFTT": case(f"{features}:CornerGFTT", grey),
        "BlobHessian": case(f"{features}:BlobHessian", grey),
        "SSIMLoss": case("kornia.losses:SSIMLoss", both(colour, colour), window_size=5),
        "MS_SSIMLoss": case("kornia.losses:MS_SSIMLoss", both(colour, colour)),
        "PSNRLoss": case("kornia.losses:PSNRLoss", both(colour, colour), max_val=1.0),
        "FocalLoss": case("kornia.losses:FocalLoss", both(images(4, 8, 8), numbers(4, 8, 8)), alpha=0.5, gamma=2.0),
        "DiceLoss": case("kornia.losses:DiceLoss", both(images(4, 8, 8), numbers(4, 8, 8))),
        "TverskyLoss": case("kornia.losses:TverskyLoss", both(images(4, 8, 8), numbers(4, 8, 8)), alpha=0.4, beta=0.6),
        "LovaszSoftmaxLoss": case("kornia.losses:LovaszSoftmaxLoss", both(images(4, 8, 8), numbers(4, 8, 8))),
        "CharbonnierLoss": case("kornia.losses:CharbonnierLoss", both(colour, colour)),
        "WelschLoss": case("kornia.losses:WelschLoss", both(colour, colour)),
        "CauchyLoss": case("kornia.losses:CauchyLoss", both(colour, colour)),
        "TotalVariation": case("kornia.losses:TotalVariation", colour),
        "InverseDepthSmoothnessLoss": case(
            "kornia.losses:InverseDepthSmoothnessLoss", both(images(1, 16, 16), images(3, 16, 16))
        ),
        "GaussianBlur2d": case("kornia.filters:GaussianBlur2d", colour, kernel_size=(3, 5), sigma=(1.0, 1.5)),
        "Sobel": case("kornia.filters:Sobel", colour),
        "Laplacian": case("kornia.filters:Laplacian", colour, kernel_size=3),
        "MedianBlur": case("kornia.filters:MedianBlur", colour, kernel_size=(3, 3)),
        "BilateralBlur": case(
            "kornia.filters:BilateralBlur", colour, kernel_size=3, sigma_color=0.2, sigma_space=(1.0, 1.0)
        ),
        "UnsharpMask": case("kornia.filters:UnsharpMask", colour, kernel_size=(3, 3), sigma=(1.5, 1.5)),
        "RgbToHsv": case("kornia.color:RgbToHsv", colour),
        "RgbToLab": case("kornia.color:RgbToLab", colour),
        "HsvToRgb": case("kornia.color:HsvToRgb", colour),
        "LabToRgb": case("kornia.color:LabToRgb", colour),
        "RgbToLuv": case("kornia.color:RgbToLuv", colour),
        "LuvToRgb": case("kornia.color:LuvToRgb", colour),
        "EdgeAwareBlurPool2D": case("kornia.filters:EdgeAwareBlurPool2D", colour, kernel_size=3),
        "InRange": case("kornia.filters:InRange", colour, lower=(-0.5, -0.4, -0.3), upper=(0.6, 0.7, 0.8)),
        "SSIM3DLoss": case("kornia.losses:SSIM3DLoss", both(images(1, 8, 9, 8), images(1, 8, 9, 8)), window_size=3),
        "SSIM": case("kornia.metrics:SSIM", both(colour, colour), window_size=5),
        "BinaryFocalLossWithLogits": case(
            "kornia.losses:BinaryFocalLossWithLogits", both(images(4, 8, 8), numbers(2, 4, 8, 8)), alpha=0.3, gamma=2.0
        ),
        "sam.Attention": case(
            "kornia.models.sam.architecture.transformer:Attention", both(*[images(7, 32, other=(5, 32))] * 3),
            embedding_dim=32, num_heads=4, downsample_rate=2,
        ),
        "ScalePyramid": case("kornia.geometry:ScalePyramid", images(1, 64, 64)),
    }  # fmt: skip


def segment_anything() -> Cases:
    root, around = "segment_anything.modeling", "segment_anything.modeling.transformer"
    points, picture = images(7, 32), images(32, 4, 4)
    base: dict[str, Any] = {"img_size": 64, "patch_size": 16, "embed_dim": 32, "depth": 2, "num_heads": 4}

    def two_ways() -> Any:
        return found(f"{around}:TwoWayTransformer")(depth=2, embedding_dim=32, num_heads=4, mlp_dim=48)

    return {
        "image encoder": case(f"{root}:ImageEncoderViT", images(3, 64, 64), out_chans=16, **base),
        "image encoder, relative positions": case(
            f"{root}:ImageEncoderViT", images(3, 64, 64), out_chans=16, use_rel_pos=True, window_size=3,
            global_attn_indexes=(1,), **base,
        ),
        "two ways": Case(two_ways, both(picture, picture, points)),
        "attention": case(f"{around}:Attention", both(points, images(9, 32), images(9, 32)), embedding_dim=32,
                          num_heads=4, downsample_rate=2),
        "mask decoder": Case(
            lambda: found(f"{root}:MaskDecoder")(
                transformer_dim=32, transformer=two_ways(), num_multimask_outputs=3, iou_head_hidden_dim=16
            ),
            _prompts,
        ),
        "layer norm": case(f"{root}.common:LayerNorm2d", images(8, 5, 5, other=(8, 4, 6)), num_channels=8),
    }  # fmt: skip


def _prompts(variant: int) -> Any:
    batch = 2 + variant
    return {
        "image_embeddings": torch.randn(1, 32, 4, 4),
        "image_pe": torch.randn(1, 32, 4, 4),
        "sparse_prompt_embeddings": torch.randn(batch, 3, 32),
        "dense_prompt_embeddings": torch.randn(batch, 32, 4, 4),
        "multimask_output": bool(variant),
    }


def efficientnet_pytorch() -> Cases:
    def of(name: str) -> Case:
        return Case(lambda: found("efficientnet_pytorch:EfficientNet").from_name(name), images(3, 64, 64))

    return {"b0": of("efficientnet-b0"), "b1": of("efficientnet-b1")}
