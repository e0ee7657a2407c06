"""Which class a model type has in transformers 5.23, as far as it decides what a SentencePiece file becomes.

Source: models/auto/tokenization_auto.py (TOKENIZER_MAPPING_NAMES, MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS).
"""

from __future__ import annotations

__all__ = ["CLASS_OF_TYPE", "DISTRUSTED", "GENERAL"]

_TYPES = {
    "AlbertTokenizer": "albert yoso",
    "BarthezTokenizer": "barthez",
    "BigBirdTokenizer": "big_bird",
    "CamembertTokenizer": "camembert",
    "CodeLlamaTokenizer": "code_llama",
    "DebertaV2Tokenizer": "deberta-v2",
    "GemmaTokenizer": "diffusion_gemma gemma gemma2 gemma3 gemma3_text gemma3n gemma3n_text recurrent_gemma "
    "shieldgemma2 t5gemma zaya",
    "LasrTokenizer": "lasr_ctc lasr_encoder",
    "LayoutXLMTokenizer": "layoutxlm",
    "LlamaTokenizer": "idefics idefics2",
    "MBart50Tokenizer": "mbart50",
    "MBartTokenizer": "mbart",
    "NllbTokenizer": "nllb nllb-moe",
    "PegasusTokenizer": "pegasus",
    "ReformerTokenizer": "reformer",
    "RemBertTokenizer": "rembert",
    "SeamlessM4TTokenizer": "seamless_m4t seamless_m4t_v2",
    "T5Tokenizer": "mt5 musicgen musicgen_melody switch_transformers t5",
    "Tipsv2Tokenizer": "tipsv2",
    "UdopTokenizer": "udop",
    "VideoPrismTokenizer": "videoprism",
    "XLMRobertaTokenizer": "gte jina_embeddings_v3 metaclip_2 trocr xlm-roberta xmod",
    "XLNetTokenizer": "xlnet",
}
# model type -> class
CLASS_OF_TYPE = {name: cls for cls, names in _TYPES.items() for name in names.split()}

# Model types that have no class of their own.
_GENERAL = """
    EvollaModel arctic aria beam bigbird_pegasus camembertv2-base canary chatlm cohere_asr ernie4_5 ernie4_5_moe
    flex_olmo fuyu glm glm4 glm4_moe glm4_moe_lite glm4v glm4v_moe glm_image glmasr got_ocr2 gpt_bigcode
    gradium_phonon_tts granite granitemoe granitemoehybrid granitemoeshared h2ovl_chat hyperclovax hyperclovax_vlm
    internlm2 internlm3 iquestcoder jamba kimi_k25 kimi_linear kosmos-2 llava llava_next mimo_v2_flash minicpm3
    minicpm_ocr minicpmv minicpmv4_6 minicpmv4_7 minimax_m2 ministral ministral3 mistral mistral3 mistral_large4
    mixtral modernbert modernbert-decoder molmo molmo2 nemo_speechlm nemotron nvfp4 nystromformer olmo2 olmo3
    olmo_hybrid opencua openvla paddleocr_vl pegasus_x persimmon phi3 phi3_v phimoe pix2struct pixtral pocket_tts
    smolvlm stablelm step3_vl umt5 vipllava voxtral voxtral_realtime xlm-roberta-xl
"""
GENERAL = frozenset(_GENERAL.split())

# Model types whose configuration files name a wrong class.
_DISTRUSTED = """
    arctic camembertv2-base chatlm cohere_asr ernie4_5 ernie4_5_moe fuyu h2ovl_chat hyperclovax
    hyperclovax_vision_v2 hyperclovax_vlm internlm2 internlm3 iquestcoder jamba llava llava_next minicpm3 minicpmv
    minimax_m2 modernbert modernbert-decoder molmo molmo2 nemotron nvfp4 opencua openvla paddleocr_vl phi3 phi3_v
    phimoe qwen2 qwen3_5 qwen3_5_moe qwen3_5_moe_text qwen4_exp siglip2 smolvlm step3_vl vipllava
"""
DISTRUSTED = frozenset(_DISTRUSTED.split())
