"""Inputs for a tiny model, from the signature of its `forward` and its configuration."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch

BATCH, LENGTH = 2, 13


def inputs_for(model: Any, model_type: str) -> Iterator[dict[str, Any]]:
    """Keyword arguments of a call, the likeliest first: the main input with what has no default, then more."""
    parameters = inspect.signature(model.forward).parameters
    main = getattr(model, "main_input_name", "input_ids")
    required = [n for n, p in parameters.items() if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    crossed = ["encoder_hidden_states"] if getattr(model.config, "add_cross_attention", False) else []
    usual = [name for name in (main, *required, *crossed, *USUAL) if name in parameters]
    seen: list[set[str]] = []
    for extra in EXTRAS:
        names = dict.fromkeys(name for name in (*usual, *extra) if name in parameters and name in MAKERS)
        if names and set(names) not in seen:
            seen.append(set(names))
            yield {name: MAKERS[name](model.config) for name in names}
    for others in LAYOUTS:
        for names in seen:
            if set(others) & names:
                yield {name: (MAKERS | others)[name](model.config) for name in names}
    if not seen:
        raise LookupError(f"no input known among {', '.join(parameters)}")


def sub(config: Any, *names: str) -> Any:
    for name in names:
        found = getattr(config, name, None)
        if found is not None:
            return found
    return config


def vocabulary(config: Any) -> int:
    text = sub(config, "text_config", "text_encoder", "decoder_config")
    return int(getattr(text, "vocab_size", None) or getattr(config, "vocab_size", None) or 131)


def tokens(config: Any) -> torch.Tensor:
    return torch.randint(min(110, vocabulary(config) // 2), min(vocabulary(config), 130), (BATCH, LENGTH))


def image(config: Any) -> torch.Tensor:
    vision = sub(config, "vision_config", "backbone_config")
    size = getattr(vision, "image_size", None) or getattr(config, "image_size", None) or 64
    height, width = (size, size) if isinstance(size, int) else size
    channels = getattr(vision, "num_channels", None) or getattr(config, "num_channels", None) or 3
    return torch.randn(BATCH, channels, height, width)


def mel(config: Any) -> torch.Tensor:
    audio = sub(config, "audio_config", "encoder_config")
    bins = next(
        (b for n in ("num_mel_bins", "input_dim", "feature_size", "input_feat_size") if (b := getattr(audio, n, None))),
        16,
    )
    return torch.randn(BATCH, bins, 2 * getattr(audio, "max_source_positions", 32))


def waveform(config: Any) -> torch.Tensor:
    return torch.randn(BATCH, 4000)


def boxes(config: Any) -> torch.Tensor:
    corner = torch.randint(0, 50, (BATCH, LENGTH, 2))
    return torch.cat([corner, corner + torch.randint(1, 50, (BATCH, LENGTH, 2))], -1)


def video(config: Any) -> torch.Tensor:
    frames = getattr(sub(config, "vision_config"), "num_frames", None) or getattr(config, "num_frames", None) or 2
    return image(config)[:, None].repeat(1, frames, 1, 1, 1)


def patches(config: Any) -> torch.Tensor:
    """Two images of four by four patches, flat, as models with `grid_thw` take them."""
    width = getattr(config, "in_channels", None) or getattr(config, "num_channels", 3)
    time = getattr(config, "temporal_patch_size", 1)
    return torch.randn(32, width * time * config.patch_size**2)


def states(config: Any) -> torch.Tensor:
    return torch.randn(BATCH, LENGTH, next(w for n in WIDTHS if (w := getattr(config, n, None))))


WIDTHS = ("hidden_size", "d_model", "embed_dim")
MAKERS: dict[str, Callable[[Any], Any]] = {
    "input_ids": tokens,
    "decoder_input_ids": tokens,
    "attention_mask": lambda config: torch.ones(BATCH, LENGTH, dtype=torch.long),
    "pixel_values": image,
    "pixel_values_videos": video,
    "input_features": mel,
    "input_values": waveform,
    "past_values": lambda config: torch.randn(BATCH, 15),
    "past_time_features": lambda config: torch.randn(BATCH, 15, 1),
    "past_observed_mask": lambda config: torch.ones(BATCH, 15),
    "future_values": lambda config: torch.randn(BATCH, 4),
    "future_time_features": lambda config: torch.randn(BATCH, 4, 1),
    "input_features_mask": lambda config: torch.ones(BATCH, mel(config).shape[-1], dtype=torch.long),
    "qformer_input_ids": tokens,
    "bbox": boxes,
    "hidden_states": patches,
    "grid_thw": lambda config: torch.tensor([[1, 4, 4], [1, 4, 4]]),
    "inputs_embeds": states,
    "query_embeds": states,
    "encoder_hidden_states": states,
}
#: other shapes of the same input
LAYOUTS: tuple[dict[str, Callable[[Any], Any]], ...] = (
    {
        "input_features": lambda config: mel(config).transpose(1, 2)[:, :48],
        "input_values": lambda config: waveform(config)[:, None],
        "pixel_values": video,
    },
    {"input_values": lambda config: mel(config).transpose(1, 2)[:, :48]},
    {"hidden_states": states},
)
#: given whenever the model takes them
USUAL = ("input_ids", "decoder_input_ids", "bbox", "future_values", "future_time_features")
#: what is added, one try after the other
EXTRAS: tuple[tuple[str, ...], ...] = (
    (),
    ("pixel_values",),
    ("input_features",),
    ("input_values",),
    ("pixel_values", "input_features", "input_values"),
    ("attention_mask",),
    ("encoder_hidden_states",),
)
