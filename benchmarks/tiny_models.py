"""Tiny models of the installed `transformers`: a configuration and inputs for most model types, derived by rules.

    from tiny_models import NAMES, build
    model, inputs = build("llama")          # 2 layers, width 64, eager attention, random weights, seed 0
    model(**inputs)

    python benchmarks/tiny_models.py                    # which of them build and run, each in a child of its own
    python benchmarks/tiny_models.py llama vit --show   # the same for some, with the reason where one fails

A configuration starts from its class's defaults. Every field that holds a size is replaced, either by what its name
says (`SIZES`: all widths become 64, so that fields that must agree still do) or, for pyramids of stages, by dividing
the default. Nothing is downloaded.
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

sys.path.insert(0, str(Path(__file__).resolve().parent))

import torch
from forked import run_forked
from tiny_inputs import inputs_for
from transformers import PretrainedConfig, ResNetConfig
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

WIDTH, HEADS, LAYERS = 64, 4, 2
VOCABULARY = 131
ACTIVATIONS = "activations"  #: not a model type, but what all of them share

#: what a field becomes, by its name; the first that matches wins; None: left as it is
SIZES: tuple[tuple[str, int | None], ...] = (
    (r"type_vocab_size", None),
    (r"(pad|bos|eos|unk|cls|sep|mask|start|end|blank|forced|decoder_start)_(token|index).*", None),
    (r"(.*_)?vocab_size(_per_layer_input)?|n_vocab|vocab_size_.*|num_embeddings|.*_vocab_size", VOCABULARY),
    (r"codebook_size", 64),
    (r"num_channels|spatial_merge_size|temporal_patch_size|.*kernel.*|.*stride.*|.*padding.*|patch_.*", None),
    (r"(d_model|hidden_size|n_embd|embed_dim|hidden_dim|dim|d_embed|model_dim|width|embedding_size|emb_dim)", WIDTH),
    (r"(.*_)?(hidden_size|hidden_dim|projection_dim|embed_dim|d_model|embedding_dim|out_hidden_size|proj_dim)", WIDTH),
    (r"(text|vision|audio|encoder|decoder|qformer|image|kv|cross|output|input)_(dim|width|size)", WIDTH),
    (r"output_channels|output_dim|word_embed_proj_dim|pooler_output_size|fpn_hidden_size|feature_size", WIDTH),
    (r"moe_intermediate_size|shared_expert_intermediate_size|expert_.*_size", 40),
    (
        r"(.*_)?(intermediate_size|ffn_dim|d_ff|d_inner|n_inner|mlp_dim|ffn_hidden_size|dim_feedforward|inner_dim)(_mlp)?",
        72,
    ),
    (r"num_key_value_heads|num_kv_heads|multi_query_group_num|n_kv_heads|num_global_key_value_heads", 2),
    (r"(.*_)?(num_attention_heads|num_heads|n_heads?|attention_heads|num_head|heads)", HEADS),
    (r"(.*_)?(head_dim|head_size|d_kv|d_head|dim_head|attention_head_dim|query_pre_attn_scalar)", 16),
    (r"rotary_dim", 8),
    (
        r"(.*_)?(num_hidden_layers|n_layers?|num_layers|layers|depth|num_blocks|num_decoder_layers|encoder_depth)",
        LAYERS,
    ),
    (r"first_k_dense_replace|moe_layer_start_index|num_dense_layers|n_dense_layers", 1),
    (r"num_local_experts|n_routed_experts|num_experts|moe_num_experts|num_routed_experts|n_experts", 4),
    (r"num_experts_per_tok|moe_topk|moe_k|top_k_experts|num_experts_per_token|moe_top_k", 2),
    (r"n_group|topk_group|num_expert_groups?", 1),
    (r"q_lora_rank|kv_lora_rank", 24),
    (r"index_topk", 4),
    (r"max_position_embeddings|n_positions|n_ctx|max_.*positions?|block_size|context_length|max_seq_len", 128),
    (r"sliding_window|attention_chunk_size|local_attention", 6),
    (r"num_queries|num_query_tokens|num_denoising|num_latents|qformer_.*tokens|num_queries_.*", 10),
    (r"num_parallel_samples|num_negatives|num_codevectors_per_group", 4),
    (r"codevector_dim|proj_codevector_dim|classifier_proj_size|xvector_output_dim", 16),
    (r"num_conv_pos_embeddings|num_conv_pos_embedding_groups", 4),
    (r"num_mel_bins|n_mels|num_mels|feature_projection_input_dim", 16),
    (r"mamba_n_heads|mamba_num_heads|linear_num_value_heads|linear_num_key_heads|linear_num_heads", 4),
    (r"mamba_d_head|mamba_head_dim|linear_.*head_dim", 32),
    (r"mamba_d_state|ssm_state_size|state_size|mamba_d_conv_state|d_state", 8),
    (r"(mamba_)?chunk_size", 8),
    (r"hidden_size_per_layer_input", 8),
    (r"upsample_groups", WIDTH),
    (r"window_size", 2),
)
#: what a field without a default becomes, where there is such a field
UNSET = {
    "head_dim": 16,
    "num_key_value_heads": HEADS,
    "n_routed_experts": 4,
    "n_group": 1,
    "topk_group": 1,
    "vocab_size": 131,
}
_SIZES = [(re.compile(pattern), value) for pattern, value in SIZES]

#: lists with one entry for every layer: cut to the layers that are left
PER_LAYER = re.compile(
    r".*layer_types|layers_block_type|attention_layers|no_rope_layers|layer_rope_theta|indexer_types"
)
DEPTHS = re.compile(r"depths|.*num_blocks|blocks_per_stage|num_block_repeats|layers_per_stage|stage_numb_of_layers")
DIVIDED = re.compile(
    r"hidden_sizes|embed_dims?|.*channels?|neck_hidden_sizes|embed_dim_per_stage|conv_dim|tdnn_dim|.*_channel_list"
    r"|num_filters|.*_initial_channel|.*feature_dims|stem_.*|.*_dims"
)

Overrides = Mapping[str, Any]
NOTHING: Overrides = {}
#: what the rules get wrong, by model type; "a.b" is a field of a sub-configuration
EXCEPTIONS: dict[str, Overrides] = {
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "qwen2_5_vl_vision": {"window_size": 112},
    "exaone4_5_vision": {"window_size": 112},
    "esm": {"pad_token_id": 1},
    "xmod": {"default_language": "en_XX"},
    "reformer": {"axial_pos_embds_dim": (16, 48), "axial_pos_shape": (8, 16)},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1},
    "layoutlmv3": {"coordinate_size": 11, "shape_size": 10},
    "bit": {"num_groups": 4},
    "autoformer": {"prediction_length": 4, "context_length": 8},
    "informer": {"prediction_length": 4, "context_length": 8},
    "time_series_transformer": {"prediction_length": 4, "context_length": 8},
}
#: model types whose configuration or inputs the rules do not get right, or that need another package
_NOT_YET = """
align audio-spectrogram-transformer audioflamingo3_encoder autoformer bamba bark blip-2 blt chameleon clap clvp
cohere_compass cohere_compass_text cosmos3_edge_vision d_fine dbrx decision_transformer deepseek_ocr2 deepseek_v2
deimv2 depth_pro dia diffusion_gemma dinat dots1 edgetam edgetam_video edgetam_vision_model efficientloftr
efficientnet emu3 ernie4_5_vl_moe esmc falcon_h1 fast_vlm fastspeech2_conformer_with_hifigan fun_asr_nano
fun_asr_nano_encoder gemma3n gemma3n_audio gemma3n_text gemma3n_vision gemma4_vision glm5_next glm5_next_text
glm_image_vqmodel gradium_phonon_tts granite4_vision granite_speech5_ctc granite_speech5_encoder granitemoehybrid
grounding-dino hiera higgs_audio_v2_tokenizer hunyuan_vl_vision idefics informer inkling_mm_model instructblip
instructblipvideo janus kimi_k25_vision kosmos-2 kyutai_speech_to_text laguna layoutlmv2 lfm2_moe lilt lw_detr
lxmert mamba2 mask2former mimi_decoder minicpm_ocr_vision minicpmv4_7_vision mm-grounding-dino mobilevit molmo2
moonshine_streaming muse_glimmer_assistant muse_glimmer_vision muse_spark muse_spark_audio muse_spark_vision
musicgen musicgen_melody nemo_speechlm nemotron3_5_transcribe_asr_audio nemotron3_5_transcribe_audio
nemotron3_5_transcribe_word_timestamp nemotron3_diarization nemotron3_diarization_audio nemotron_h neucodec
omdet-turbo oneformer paddleocr_vl patchtsmixer patchtst pe_audio_video_encoder perceiver perception_lm pi0
pocket_tts pocket_tts_audio_tokenizer_decoder pp_doclayout_v3 pp_doclayout_v4 pp_ocrv5_mobile_rec
pp_ocrv6_medium_det pp_ocrv6_small_det pp_ocrv6_small_rec pp_ocrv6_tiny_rec qwen3_asr_encoder qwen4_exp
qwen4_exp_text rt_detr rt_detr_v2 sam sam2 sam2_hiera_det_model sam2_video sam2_vision_model sam3_tracker
sam3_tracker_video sam3_video sam_hq seggpt siglip2 siglip2_vision_model speech_to_text speecht5 step3p7 swin2sr
t5gemma2_encoder textnet time_series_transformer timesfm timesfm2_5 timm_backbone timm_wrapper tvp unlimited_ocr
uvdoc vibevoice_acoustic_tokenizer_decoder vibevoice_acoustic_tokenizer_encoder video_llama_3_vision
voxtral_realtime voxtral_realtime_text xcodec xcodec2 xlstm zamba
"""
LEFT_OUT = frozenset(_NOT_YET.split())


def shrink(config: PretrainedConfig, overrides: Overrides = NOTHING) -> PretrainedConfig:
    """The same configuration with small sizes."""
    wanted = {name: small for name, value in vars(config).items() if (small := _small(name, value)) is not None}
    layers = wanted.get("num_hidden_layers", LAYERS)
    for name, value in vars(config).items():
        if isinstance(value, PretrainedConfig) and value.model_type.startswith("timm"):
            wanted[name] = shrink(ResNetConfig(out_features=["stage2", "stage3", "stage4"]))
        elif isinstance(value, PretrainedConfig):
            inner = {key[len(name) + 1 :]: v for key, v in overrides.items() if key.startswith(f"{name}.")}
            wanted[name] = shrink(value, inner)
        elif PER_LAYER.fullmatch(name) and isinstance(value, list | tuple) and value:
            wanted[name] = _one_of_each(list(value), layers)
        elif value is None and name in UNSET:
            wanted[name] = UNSET[name]
    if isinstance(config.__dict__.get("rope_parameters"), dict):
        sections = "mrope_section" in (getattr(config, "ignore_keys_at_rope_validation", None) or ())
        wanted["rope_parameters"] = _rope(config.rope_parameters, sections)
    if config.__dict__.get("image_size") is not None:
        wanted["image_size"] = _image_size(config.image_size, getattr(config, "patch_size", None))
    if "kv_lora_rank" in wanted and "num_key_value_heads" in wanted:
        wanted["num_key_value_heads"] = HEADS  # latent attention has no groups
    if "qk_head_dim" in wanted:
        wanted["qk_head_dim"] = wanted["qk_rope_head_dim"] + wanted["qk_nope_head_dim"]
    wanted |= {name: value for name, value in overrides.items() if "." not in name}
    return type(config)(**_acceptable(type(config), wanted))


def _acceptable(kind: type[PretrainedConfig], wanted: dict[str, Any]) -> dict[str, Any]:
    """Fields that the constructor takes; a few are kept under a private name with a property in front."""
    known = set(inspect.signature(kind.__init__).parameters) | set(getattr(kind, "__dataclass_fields__", ()))
    public = {name.removeprefix("_"): value for name, value in wanted.items()}
    return {
        name: value for name, value in public.items() if name in known and name not in ("out_features", "stage_names")
    }


def _small(name: str, value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return None
    if DEPTHS.fullmatch(name) and _ints(value):
        return type(value)(1 for _ in value)
    if DIVIDED.fullmatch(name) and (_ints(value) or (isinstance(value, int) and value > 64)):
        return _divided(value)
    if _ints(value) and re.fullmatch(r"num_heads|num_attention_heads.*", name):
        return type(value)(min(each, 4) for each in value)
    if not isinstance(value, int) or value <= 0:
        return None
    if name.endswith(("_token_id", "_token_index", "_index", "_id")):
        return value if value < VOCABULARY else 5 + sum(map(ord, name)) % 100
    for pattern, small in _SIZES:
        if pattern.fullmatch(name):
            return small if small is None or small < value else value
    return None


def _ints(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(type(each) is int for each in value)


def _divided(value: Any) -> Any:
    """A pyramid of widths, as steep as it was."""
    if isinstance(value, int):
        return max(value // 8, 8)
    return type(value)(max(each // 8, 8) if each > 8 else each for each in value)


def _one_of_each(kinds: list[Any], layers: int) -> list[Any]:
    """The first layers, with the kinds that come later in place of repeated ones."""
    distinct = list(dict.fromkeys(kinds))
    return (distinct + kinds * 2)[:layers] if len(distinct) > 1 else kinds[:layers]


def _rope(parameters: dict[str, Any], sections: bool) -> dict[str, Any]:
    if not sections and "mrope_section" not in parameters:
        return {key: _rope(value, False) if isinstance(value, dict) else value for key, value in parameters.items()}
    half = 8 * parameters.get("partial_rotary_factor", 1.0)
    return parameters | {"mrope_section": [2, 3, 3] if half == 8 else [1, 1, 2]}


def _image_size(value: Any, patch: Any) -> Any:
    patch = max(patch) if isinstance(patch, list | tuple) else patch
    size = 64 if not isinstance(patch, int) or patch <= 4 else 4 * patch
    return type(value)(size for _ in value) if isinstance(value, list | tuple) else size


#: configurations besides the plain one: the fields they need, and what they change
VARIANTS: dict[str, tuple[tuple[str, ...], Overrides]] = {
    "decoder": (("is_decoder", "add_cross_attention"), {"is_decoder": True, "add_cross_attention": True}),
    "other_numbers": (("swiglu_alpha",), {"swiglu_alpha": 1.25}),
}


def variants(model_type: str) -> tuple[str, ...]:
    """The names of the configurations in which a type is run; the plain one is the empty name."""
    if model_type == ACTIVATIONS:
        return ("",)
    config = CONFIG_MAPPING[model_type]()
    inner = [value for value in vars(config).values() if isinstance(value, PretrainedConfig)]
    return (
        "",
        *(n for n, (needs, _) in VARIANTS.items() if any(all(f in vars(c) for f in needs) for c in (config, *inner))),
    )


def configuration(model_type: str, variant: str = "") -> PretrainedConfig:
    overrides = dict(EXCEPTIONS.get(model_type, {}))
    config = CONFIG_MAPPING[model_type]()
    if variant:
        needs, changes = VARIANTS[variant]
        overrides |= changes
        for name, value in vars(config).items():
            if isinstance(value, PretrainedConfig) and all(field in vars(value) for field in needs):
                overrides |= {f"{name}.{field}": change for field, change in changes.items()}
    return shrink(config, overrides)


def model_class(model_type: str) -> Any:
    """The base model of a type, as the automatic classes choose it."""
    import transformers

    name = MODEL_MAPPING_NAMES[model_type]
    return getattr(transformers, name if isinstance(name, str) else name[0])


def build(model_type: str, variant: str = "", seed: int = 0) -> tuple[torch.nn.Module, dict[str, Any]]:
    """A tiny model in evaluation mode with random weights, and the keyword arguments of a call."""
    torch.manual_seed(seed)
    if model_type == ACTIVATIONS:
        return Activations().eval(), {"x": torch.randn(3, 17)}
    config = configuration(model_type, variant)
    kind = model_class(model_type)
    model = (
        kind._from_config(config, attn_implementation="eager", experts_implementation="eager")
        if hasattr(kind, "_from_config")
        else kind(config)
    )
    return model.eval(), _accepted(model.eval(), model_type)


def _accepted(model: torch.nn.Module, model_type: str) -> dict[str, Any]:
    """The smallest set of inputs that the model takes."""
    problems: list[Exception] = []
    for inputs in inputs_for(model, model_type):
        try:
            with torch.no_grad():
                model(**inputs)
        except Exception as problem:  # models complain about their inputs in every way there is
            problems.append(problem)
        else:
            return inputs
    raise problems[0]


class Activations(torch.nn.Module):
    """Every activation that a configuration can name, one after the other."""

    def __init__(self) -> None:
        super().__init__()
        from transformers.activations import ACT2FN

        self.kinds = torch.nn.ModuleDict({name.replace(".", "_"): ACT2FN[name] for name in ACT2FN})

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [kind(x) for kind in self.kinds.values()]


def warm() -> None:
    """Import what every model needs, so that forked children need not."""
    torch.set_num_threads(1)
    for model_type in ("llama", "vit", "t5", "wav2vec2"):
        model_class(model_type)


NAMES = tuple(name for name in MODEL_MAPPING_NAMES if name not in LEFT_OUT)


def tried(model_type: str) -> dict[str, Any]:
    """Whether a type builds and runs."""
    started = time.perf_counter()
    model, inputs = build(model_type)
    with torch.no_grad():
        model(**inputs)
    parameters = sum(p.numel() for p in model.parameters())
    return {"seconds": time.perf_counter() - started, "parameters": parameters}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--show", action="store_true", help="print the whole traceback of a failure")
    given = parser.parse_args()
    good = 0
    warm()
    names = given.names or NAMES
    for name, result, problem in run_forked(tried, names, workers=2, seconds=40, full=given.show):
        good += result is not None
        if problem:
            print(f"{name:32} {problem}", flush=True)
        else:
            print(f"{name:32} ok {result['seconds']:.2f} s, {result['parameters']} parameters", flush=True)
    print(f"{good} of {len(names)} build and run")
    return 0


if __name__ == "__main__":
    sys.exit(main())
