# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The public PyTorch models that public_models.py tries: how each is made, with which
inputs, and how it is cut."""

import dataclasses
import typing

import diffusers
import sentence_transformers.models
import timm
import timm.models as tm
import torch
import torchvision.models as tv
import transformers
import x_transformers as xt
from torch import nn

import torch_zoo

# A machine without a device has no stream that could be captured.
torch.cuda.is_current_stream_capturing = lambda: False


@dataclasses.dataclass
class Model:
    make: typing.Callable            # the module
    inputs: typing.Callable          # by name
    layouts: tuple = ()              # of the comparison with JAX
    cut: str = ""                    # results that are laid out as the inputs, a pattern


@dataclasses.dataclass
class Layout:
    mesh: dict
    inputs: dict                     # by name, axes of dimensions
    results: list = dataclasses.field(default_factory=list)
    weights: bool = False            # Megatron's cuts
    train: bool = False


def make_image_layout(name, mesh, dims, **options):
    return Layout(mesh, {key: [[], [], *dims] for key in ("x", "sample", "pixel_values")},
                  [[], [], *dims], **options)


# Not of token ids, of which so few bytes would be gathered that all is computed whole.
SEQUENCE_INPUTS = {"inputs_embeds": [[], ["model"], []]}
LAYOUTS = {}
for train in (False, True):
    for devices in (2, 4):
        phase = "-train" if train else ""
        LAYOUTS[f"rows{devices}{phase}"] = make_image_layout(
            "rows", {"rows": devices}, [["rows"], []], train=train)
        LAYOUTS[f"sequence{devices}{phase}"] = Layout(
            {"model": devices}, SEQUENCE_INPUTS, [[], ["model"], []], train=train)
        LAYOUTS[f"tensor{devices}{phase}"] = Layout(
            {"model": devices}, {}, [[], [], ["model"]], weights=True, train=train)
    LAYOUTS[f"image4{phase}"] = make_image_layout(
        "image", {"rows": 2, "columns": 2}, [["rows"], ["columns"]], train=train)
IMAGE = ("rows", "image")
LANGUAGE = ("sequence", "tensor")

# Sizes.
BATCH, TOKENS, LONG = 2, 8, 64
HF = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
      "intermediate_size": 48, "max_position_embeddings": 64, "pad_token_id": 0,
      "bos_token_id": 1, "eos_token_id": 2}
GPT = {"vocab_size": 64, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64,
       "bos_token_id": 1, "eos_token_id": 2}
SEQ2SEQ = {"vocab_size": 64, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
           "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 48,
           "decoder_ffn_dim": 48, "max_position_embeddings": 64, "pad_token_id": 0,
           "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
GROUPED = HF | {"num_key_value_heads": 2}
VISION = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
          "intermediate_size": 48, "image_size": 32, "patch_size": 8}


def image(size=64, batch=BATCH, name="x", channels=3):
    return lambda: {name: torch.randn(batch, channels, size, size)}


def tokens(count=TOKENS, batch=BATCH, *more):
    def make():
        values = {"input_ids": torch.randint(3, 64, (batch, count))}
        if "mask" in more:
            values["attention_mask"] = torch.ones(batch, count, dtype=torch.int64)
            values["attention_mask"][-1, count - 2:] = 0
        if "decoder" in more:
            values["decoder_input_ids"] = torch.randint(3, 64, (batch, count - 3))
        return values
    return make


def hf(kind, sizes=None, inputs=None, **options):
    """A model of the transformers library."""
    def make():
        model_class = getattr(transformers, kind)
        config = model_class.config_class(**(sizes if sizes is not None else HF))
        if hasattr(config, "use_cache"):
            config.use_cache = False
        return model_class(config)
    return Model(make, inputs or tokens(), **options)


def small(name, size=64, **options):
    """A model of timm's, with what it is given."""
    return Model(lambda: timm.create_model(name, num_classes=8, **options), image(size))


class Pooled(nn.Module):
    """A chain of sentence-transformers' modules behind a transformer."""

    def __init__(self, *modules):
        super().__init__()
        self.transformer = transformers.BertModel(transformers.BertConfig(**HF))
        self.chain = nn.ModuleList(modules)

    def forward(self, input_ids, attention_mask):
        outputs = self.transformer(input_ids, attention_mask, output_hidden_states=True)
        features = {"token_embeddings": outputs.last_hidden_state, "attention_mask": attention_mask,
                    "cls_token_embeddings": outputs.last_hidden_state[:, 0],
                    "all_layer_embeddings": outputs.hidden_states}
        for module in self.chain:
            features = module(features)
        return features["sentence_embedding"]


def zoo(name):
    """Of torch_zoo.py, which has it on two ranks alone."""
    sizes = torch_zoo.ZOO[name][2]
    return Model(lambda: torch_zoo.make(name)[0],
                 lambda: {key: torch_zoo.INPUTS[key]() for key in sizes})


def pooled(*names):
    st = sentence_transformers.models
    return Model(lambda: Pooled(*(getattr(st, name)(*arguments) for name, *arguments in names)),
                 tokens(TOKENS, BATCH, "mask"))


def wrapped(layers, count=TOKENS, batch=BATCH, **options):
    """A language model of x-transformers'."""
    return Model(lambda: xt.TransformerWrapper(num_tokens=64, max_seq_len=32,
                                               attn_layers=layers(), **options),
                 lambda: {"x": torch.randint(0, 64, (batch, count))})


def layers(kind, **options):
    return lambda: kind(dim=32, depth=2, heads=4, attn_dim_head=8, **options)


def make_wave():
    return {"input_values": torch.randn(1, 1, 64)}


UNET = {"sample_size": 32, "block_out_channels": (16, 32), "layers_per_block": 1,
        "norm_num_groups": 4}
CONDITIONED = {"cross_attention_dim": 32, "attention_head_dim": 4}
BLOCKS = {"down_block_types": ("DownBlock2D", "AttnDownBlock2D"),
          "up_block_types": ("AttnUpBlock2D", "UpBlock2D")}
VAE = {"block_out_channels": (8, 16), "norm_num_groups": 4, "latent_channels": 4,
       "down_block_types": ("DownEncoderBlock2D",) * 2,
       "up_block_types": ("UpDecoderBlock2D",) * 2}


def denoiser(kind, sizes, channels=4, size=16, **more):
    return Model(lambda: getattr(diffusers, kind)(**sizes), lambda: {
        name: value() if callable(value) else value for name, value in
        ({(("hidden_states") if "Transformer" in kind else "sample"):
          lambda: torch.randn(BATCH, channels, size, size)} | more).items()})


STEP = {"timestep": lambda: torch.tensor([3.0, 7.0])}
TEXT = {"encoder_hidden_states": lambda: torch.randn(BATCH, 6, 32)}
AUDIO = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 48, "conv_dim": [16, 16], "conv_stride": [5, 2],
         "conv_kernel": [10, 3], "num_conv_pos_embeddings": 8,
         "num_conv_pos_embedding_groups": 4, "mask_time_prob": 0.0, "mask_feature_prob": 0.0}
PRODUCTS = {"experts_implementation": "batched_mm"}

MODELS = {
    # What the comparison with JAX is of.
    "swin": Model(lambda: tm.SwinTransformer(
        img_size=64, patch_size=2, window_size=4, embed_dim=16, depths=(2, 2), num_heads=(2, 4),
        num_classes=8), image(64, 1), IMAGE),
    "convnext": Model(lambda: tm.ConvNeXt(depths=(1, 1, 1, 1), dims=(8, 16, 24, 32), num_classes=8),
                      image(128, 1), IMAGE),
    "maxvit": Model(lambda: timm.create_model("test_maxvit", img_size=128, num_classes=8),
                    image(128, 1), IMAGE),
    "twins": Model(lambda: tm.Twins(
        img_size=128, embed_dims=(16, 32), num_heads=(2, 4), mlp_ratios=(2, 2), depths=(2, 2),
        sr_ratios=(4, 2), wss=(4, 4), num_classes=8), image(128, 1), IMAGE),
    "unet": Model(lambda: diffusers.UNet2DModel(
        **UNET, **BLOCKS, in_channels=4, out_channels=4, attention_head_dim=4),
        lambda: {"sample": torch.randn(1, 4, 32, 32), "timestep": torch.tensor([3.0])}, IMAGE,
        cut=r"sample"),
    "mamba": hf("MambaForCausalLM", {"vocab_size": 64, "hidden_size": 32, "state_size": 4,
                                     "num_hidden_layers": 2}, tokens(LONG, 1),
                layouts=LANGUAGE, cut="logits"),
    "mamba2": hf("Mamba2ForCausalLM", {
        "vocab_size": 64, "hidden_size": 32, "state_size": 8, "num_hidden_layers": 2,
        "head_dim": 8, "num_heads": 8, "n_groups": 1, "chunk_size": 8}, tokens(LONG, 1),
        layouts=LANGUAGE, cut="logits"),
    "griffin": hf("RecurrentGemmaForCausalLM", GROUPED | {
        "num_hidden_layers": 3, "attention_window_size": 8, "lru_width": 32}, tokens(LONG, 1),
        layouts=LANGUAGE, cut="logits"),
    "mistral-window": hf("MistralForCausalLM", GROUPED | {"sliding_window": 8}, tokens(LONG, 1),
                         layouts=LANGUAGE, cut="logits"),
    "gemma2-window": hf("Gemma2ForCausalLM", GROUPED | {"head_dim": 8, "sliding_window": 8},
                        tokens(LONG, 1), layouts=LANGUAGE, cut="logits"),
    "llama-halves": hf("LlamaForCausalLM", GROUPED, tokens(LONG, 1), layouts=LANGUAGE,
                       cut="logits"),
    "gptj-interleaved": hf("GPTJForCausalLM", GPT | {"rotary_dim": 4}, tokens(LONG, 1),
                           layouts=LANGUAGE, cut="logits"),

    # timm.
    **{name: small(name) for name in (
        "test_byobnet", "test_convnext", "test_convnext3", "test_efficientnet",
        "test_efficientnet_gn", "test_efficientnet_ln", "test_mambaout", "test_nfnet",
        "test_resnet", "lcnet_035", "mobilenetv3_small_050", "ghostnet_050", "edgenext_xx_small",
        "repvit_m0_9", "fastvit_t8", "efficientvit_b0", "starnet_s1", "mobilevit_xxs",
        "mobilevitv2_050", "swiftformer_xs", "dla46x_c", "tinynet_e",
        "mobilenetv4_conv_small_035", "repghostnet_050", "fasternet_t0")},
    **{name: small(name, img_size=64) for name in ("test_vit", "test_vit3", "test_vit_relpos")},
    "coatnet": small("test_coatnet", img_size=64),
    "mixer": Model(lambda: tm.MlpMixer(img_size=32, patch_size=8, embed_dim=32, num_blocks=2,
                                       num_classes=8), image(32)),
    "pvt": Model(lambda: tm.PyramidVisionTransformerV2(
        embed_dims=(8, 16, 24, 32), num_heads=(1, 2, 3, 4), depths=(1, 1, 1, 1),
        num_classes=8), image()),
    "poolformer": Model(lambda: tm.metaformer.MetaFormer(
        depths=(1, 1), dims=(16, 32), num_classes=8), image()),
    "xcit": Model(lambda: tm.Xcit(img_size=64, patch_size=16, embed_dim=32, depth=2, num_heads=4,
                                  cls_attn_layers=1, num_classes=8), image()),
    "cait": Model(lambda: tm.Cait(img_size=64, patch_size=16, embed_dim=32, depth=2, num_heads=4,
                                  num_classes=8), image()),
    "beit": Model(lambda: tm.Beit(img_size=64, patch_size=16, embed_dim=32, depth=2, num_heads=4,
                                  num_classes=8, use_rel_pos_bias=True), image()),
    "eva": Model(lambda: tm.Eva(img_size=64, patch_size=16, embed_dim=32, depth=2, num_heads=4,
                                num_classes=8, use_rot_pos_emb=True, swiglu_mlp=True), image()),
    "convmixer": Model(lambda: tm.ConvMixer(dim=32, depth=2, kernel_size=5, patch_size=4,
                                            num_classes=8), image(32)),
    "focalnet": Model(lambda: tm.FocalNet(embed_dim=16, depths=(1, 1), focal_levels=(2, 2),
                                          focal_windows=(3, 3), num_classes=8), image()),
    "davit": Model(lambda: tm.DaVit(depths=(1, 1), embed_dims=(16, 32), num_heads=(2, 4),
                                    window_size=4, num_classes=8), image()),
    "volo": Model(lambda: tm.VOLO(layers=(1, 1), img_size=64, patch_size=8, embed_dims=(16, 32),
                                  num_heads=(2, 4), mlp_ratio=2, downsamples=(True, False),
                                  num_classes=8, outlook_attention=(True, False)), image()),
    "hiera": Model(lambda: tm.Hiera(img_size=(64, 64), embed_dim=16, num_heads=1, num_classes=8,
                                    stages=(1, 1, 1, 1)), image()),
    "sequencer": Model(lambda: tm.Sequencer2d(
        img_size=32, layers=(1, 1, 1, 1), patch_sizes=(4, 2, 1, 1), embed_dims=(16, 16, 16, 16),
        hidden_sizes=(8, 8, 8, 8), mlp_ratios=(2, 2, 2, 2), num_classes=8), image(32)),
    "nest": Model(lambda: tm.Nest(img_size=64, patch_size=4, num_levels=2, embed_dims=(16, 32),
                                  num_heads=(2, 4), depths=(1, 1), num_classes=8), image()),
    "levit": Model(lambda: tm.Levit(img_size=64, embed_dim=(16, 24, 32), key_dim=8,
                                    depth=(1, 1, 1), num_heads=(2, 3, 4), num_classes=8), image()),

    # torchvision.
    "tv-resnet": Model(lambda: tv.ResNet(tv.resnet.Bottleneck, [1, 1, 1, 1], num_classes=8,
                                         width_per_group=8), image()),
    "tv-vit": Model(lambda: tv.VisionTransformer(32, 8, 2, 4, 32, 48, num_classes=8), image(32)),
    "tv-swin": Model(lambda: tv.SwinTransformer([2, 2], 16, [1, 1], [2, 4], [4, 4], num_classes=8),
                     image(32)),
    "tv-swin2": Model(lambda: tv.SwinTransformer(
        [2, 2], 16, [1, 1], [2, 4], [4, 4], num_classes=8,
        block=tv.swin_transformer.SwinTransformerBlockV2,
        downsample_layer=tv.swin_transformer.PatchMergingV2), image(32)),
    "tv-maxvit": Model(lambda: tv.MaxVit((64, 64), 16, 4, [16, 32], [1, 1], 8, 0.0,
                                         num_classes=8), image()),
    "tv-squeezenet": Model(lambda: tv.squeezenet1_1(num_classes=8), image()),
    "tv-mobilenet": Model(lambda: tv.mobilenet_v2(num_classes=8, width_mult=0.25), image()),
    "tv-shufflenet": Model(lambda: tv.shufflenet_v2_x0_5(num_classes=8), image()),
    "tv-mnasnet": Model(lambda: tv.MNASNet(0.25, num_classes=8), image()),
    "tv-densenet": Model(lambda: tv.DenseNet(8, (2, 2), 16, num_classes=8), image()),
    "tv-fcn": Model(lambda: tv.segmentation.lraspp_mobilenet_v3_large(
        weights_backbone=None, num_classes=4), image(name="input")),
    "tv-r3d": Model(lambda: tv.video.VideoResNet(
        tv.video.resnet.BasicBlock, [tv.video.resnet.Conv3DSimple] * 4, [1, 1, 1, 1],
        tv.video.resnet.BasicStem, num_classes=8), lambda: {"x": torch.randn(BATCH, 3, 4, 16, 16)}),
    "tv-googlenet": Model(lambda: tv.googlenet(num_classes=8, aux_logits=False,
                                               init_weights=False), image()),
    "tv-regnet": Model(lambda: tv.RegNet(tv.regnet.BlockParams.from_init_params(
        depth=4, w_0=16, w_a=8.0, w_m=2.0, group_width=8), num_classes=8), image()),
    "tv-deeplab": Model(lambda: tv.segmentation.deeplabv3_mobilenet_v3_large(
        weights_backbone=None, num_classes=4), image()),
    "tv-raft": Model(lambda: tv.optical_flow.raft_small(), lambda: {
        "image1": torch.rand(BATCH, 3, 128, 128), "image2": torch.rand(BATCH, 3, 128, 128),
        "num_flow_updates": 1}),

    # transformers.
    "gpt2": hf("GPT2LMHeadModel", GPT, tokens(TOKENS, BATCH, "mask")),
    "gpt-neox": hf("GPTNeoXForCausalLM"),
    "gpt-neo": hf("GPTNeoForCausalLM", {
        "vocab_size": 64, "hidden_size": 32, "num_layers": 2, "num_heads": 4, "window_size": 4,
        "attention_types": [[["global", "local"], 1]], "max_position_embeddings": 64}),
    "opt": hf("OPTForCausalLM", {"vocab_size": 64, "hidden_size": 32, "ffn_dim": 48,
                                 "num_hidden_layers": 2, "num_attention_heads": 4,
                                 "word_embed_proj_dim": 32, "max_position_embeddings": 64}),
    "bloom": hf("BloomForCausalLM", {"vocab_size": 64, "hidden_size": 32, "n_layer": 2,
                                     "n_head": 4}),
    "falcon": hf("FalconForCausalLM", HF | {"alibi": True}),
    "codegen": hf("CodeGenForCausalLM", GPT | {"rotary_dim": 4}),
    "olmo2": hf("Olmo2ForCausalLM", GROUPED),
    "qwen2-moe": hf("Qwen2MoeForCausalLM", GROUPED | {
        "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16,
        "shared_expert_intermediate_size": 16} | PRODUCTS),
    "deepseek3": hf("DeepseekV3ForCausalLM", HF | {
        "num_key_value_heads": 4, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1,
        "topk_group": 1, "moe_intermediate_size": 16, "q_lora_rank": 16, "kv_lora_rank": 16,
        "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8,
        "first_k_dense_replace": 1} | PRODUCTS),
    "gemma3": hf("Gemma3ForCausalLM", GROUPED | {"head_dim": 8, "sliding_window": 4}),
    "falcon-mamba": hf("FalconMambaForCausalLM", {"vocab_size": 64, "hidden_size": 32,
                                                  "state_size": 4, "num_hidden_layers": 2}),
    "jamba": hf("JambaForCausalLM", GROUPED | {
        "num_hidden_layers": 4, "attn_layer_offset": 1, "attn_layer_period": 4, "num_experts": 2,
        "expert_layer_offset": 1, "expert_layer_period": 2, "num_experts_per_tok": 1,
        "mamba_d_state": 4, "use_mamba_kernels": False, "mamba_dt_rank": 4} | PRODUCTS),
    "roberta": hf("RobertaModel", HF, tokens(TOKENS, BATCH, "mask")),
    "distilbert": hf("DistilBertModel", {"vocab_size": 64, "dim": 32, "n_layers": 2, "n_heads": 4,
                                         "hidden_dim": 48}, tokens(TOKENS, BATCH, "mask")),
    "albert": hf("AlbertModel", HF | {"embedding_size": 16}, tokens(TOKENS, BATCH, "mask")),
    "electra": hf("ElectraModel", HF | {"embedding_size": 16}, tokens(TOKENS, BATCH, "mask")),
    "deberta2": hf("DebertaV2Model", HF | {"relative_attention": True, "position_buckets": 8,
                                           "pos_att_type": ["p2c", "c2p"]},
                   tokens(TOKENS, BATCH, "mask")),
    "mpnet": hf("MPNetModel", HF, tokens(TOKENS, BATCH, "mask")),
    "modernbert": hf("ModernBertModel", HF | {"local_attention": 4, "cls_token_id": 1,
                                              "sep_token_id": 2}, tokens(TOKENS, BATCH, "mask")),
    "fnet": hf("FNetModel", HF),
    "xlnet": hf("XLNetModel", {"vocab_size": 64, "d_model": 32, "n_layer": 2, "n_head": 4,
                               "d_inner": 48}),
    "bart": hf("BartModel", SEQ2SEQ, tokens(TOKENS, BATCH, "decoder")),
    "pegasus": hf("PegasusModel", SEQ2SEQ, tokens(TOKENS, BATCH, "decoder")),
    "t5": hf("T5Model", {"vocab_size": 64, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2,
                         "num_heads": 4, "feed_forward_proj": "gated-gelu"},
             tokens(TOKENS, BATCH, "decoder")),
    "dinov2": hf("Dinov2Model", VISION, image(32, BATCH, "pixel_values")),
    "siglip": hf("SiglipVisionModel", VISION, image(32, BATCH, "pixel_values")),
    "clip-text": hf("CLIPTextModel", HF),
    "segformer": hf("SegformerModel", {
        "num_encoder_blocks": 2, "depths": [1, 1], "sr_ratios": [2, 1], "hidden_sizes": [16, 32],
        "num_attention_heads": [1, 2], "patch_sizes": [7, 3], "strides": [4, 2],
        "mlp_ratios": [2, 2]}, image(64, BATCH, "pixel_values")),
    "hf-swin2": hf("Swinv2Model", {"image_size": 32, "patch_size": 2, "embed_dim": 16,
                                   "depths": [2, 1], "num_heads": [2, 4], "window_size": 4},
                   image(32, BATCH, "pixel_values")),
    "wav2vec2": hf("Wav2Vec2Model", AUDIO | {"vocab_size": 32},
                   lambda: {"input_values": torch.randn(BATCH, 400)}),
    "hubert": hf("HubertModel", AUDIO, lambda: {"input_values": torch.randn(BATCH, 400)}),
    # Loops over the tokens of each expert.
    "mixtral-loop": hf("MixtralForCausalLM", GROUPED | {
        "num_local_experts": 4, "experts_implementation": "eager"}),
    "longformer": hf("LongformerModel", HF | {"attention_window": [4, 4]},
                     tokens(16, BATCH, "mask")),
    "bigbird": hf("BigBirdModel", HF | {"attention_type": "original_full"}),
    "funnel": hf("FunnelModel", {"vocab_size": 64, "d_model": 32, "n_head": 4, "d_head": 8,
                                 "d_inner": 48, "block_sizes": [1, 1], "num_decoder_layers": 1}),
    "patchtst": hf("PatchTSTModel", {
        "num_input_channels": 2, "context_length": 16, "patch_length": 4, "patch_stride": 4,
        "d_model": 16, "num_attention_heads": 4, "ffn_dim": 32, "num_hidden_layers": 2},
        lambda: {"past_values": torch.randn(BATCH, 16, 2)}),
    "clip": hf("CLIPModel", {"text_config": HF, "vision_config": VISION, "projection_dim": 16},
               lambda: {**tokens()(), **image(32, BATCH, "pixel_values")()}),
    "sam": hf("SamVisionModel", {
        "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 64,
        "patch_size": 8, "window_size": 4, "global_attn_indexes": [1], "output_channels": 16,
        "mlp_dim": 48}, image(64, 1, "pixel_values")),
    "encodec": hf("EncodecModel", {
        "num_filters": 8, "hidden_size": 16, "codebook_size": 16, "codebook_dim": 16,
        "upsampling_ratios": [4, 2], "num_lstm_layers": 1}, make_wave),
    "dac": hf("DacModel", {
        "encoder_hidden_size": 8, "decoder_hidden_size": 32, "downsampling_ratios": [2, 2],
        "upsampling_ratios": [2, 2], "n_codebooks": 2, "codebook_size": 16, "codebook_dim": 4,
        "hidden_size": 32}, make_wave),
    "rwkv": hf("RwkvForCausalLM", {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2,
                                   "attention_hidden_size": 32}),
    "mpt": hf("MptForCausalLM", {"vocab_size": 64, "d_model": 32, "n_heads": 4, "n_layers": 2,
                                 "max_seq_len": 32, "expansion_ratio": 2}),
    "bigcode": hf("GPTBigCodeForCausalLM", GPT),
    "stablelm": hf("StableLmForCausalLM", GROUPED),
    "zamba2": hf("Zamba2ForCausalLM", HF | {
        "num_hidden_layers": 3, "layers_block_type": ["mamba", "hybrid", "mamba"],
        "mamba_d_state": 8, "mamba_headdim": 8, "n_mamba_heads": 8, "mamba_ngroups": 1,
        "chunk_size": 8, "num_mem_blocks": 1, "num_key_value_heads": 4,
        "attention_head_dim": 16}),
    "bamba": hf("BambaForCausalLM", GROUPED | {
        "attn_layer_indices": [1], "mamba_n_heads": 8, "mamba_d_head": 8, "mamba_d_state": 8,
        "mamba_n_groups": 1, "mamba_chunk_size": 8}),
    "nemotron-h": hf("NemotronHForCausalLM", GROUPED | {
        "head_dim": 8, "layers_block_type": ["mamba", "attention"], "mamba_num_heads": 8,
        "mamba_head_dim": 8, "ssm_state_size": 8, "n_groups": 1, "chunk_size": 8}),
    "qwen3-next": hf("Qwen3NextForCausalLM", GROUPED | {
        "head_dim": 8, "linear_num_value_heads": 4, "linear_num_key_heads": 2,
        "linear_key_head_dim": 8, "linear_value_head_dim": 8, "num_experts": 4,
        "num_experts_per_tok": 2, "moe_intermediate_size": 16,
        "shared_expert_intermediate_size": 16,
        "layer_types": ["linear_attention", "full_attention"]} | PRODUCTS),
    "gpt-oss": hf("GptOssForCausalLM", GROUPED | {
        "head_dim": 8, "num_local_experts": 4, "num_experts_per_tok": 2,
        "sliding_window": 4} | PRODUCTS),
    "convbert": hf("ConvBertModel", HF | {"embedding_size": 32, "head_ratio": 2,
                                          "conv_kernel_size": 3}),
    "detr": hf("DetrModel", {
        "use_timm_backbone": False, "backbone_config": transformers.ResNetConfig(
            embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], out_features=["stage2"]),
        "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4,
        "decoder_attention_heads": 4, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32,
        "num_queries": 5}, image(32, BATCH, "pixel_values")),
    "perceiver": hf("PerceiverModel", {
        "num_latents": 4, "d_latents": 16, "d_model": 16, "num_blocks": 1,
        "num_self_attends_per_block": 2, "num_self_attention_heads": 2,
        "num_cross_attention_heads": 2}, lambda: {"inputs": torch.randn(BATCH, 6, 16)}),
    "vivit": hf("VivitModel", VISION | {"num_frames": 2, "tubelet_size": [1, 8, 8]},
                lambda: {"pixel_values": torch.randn(1, 2, 3, 32, 32)}),
    "dpt": hf("DPTForDepthEstimation", VISION | {
        "num_hidden_layers": 4, "backbone_out_indices": [0, 1, 2, 3],
        "neck_hidden_sizes": [8, 8, 16, 16], "fusion_hidden_size": 16, "is_hybrid": False},
        image(32, BATCH, "pixel_values")),
    "reformer": hf("ReformerModel", {
        "vocab_size": 64, "hidden_size": 32, "num_attention_heads": 4, "attention_head_size": 8,
        "feed_forward_size": 48, "attn_layers": ["local", "local"], "axial_pos_embds": False,
        "local_attn_chunk_length": 4, "is_decoder": False, "max_position_embeddings": 64},
        tokens(16)),
    "xlstm": hf("xLSTMForCausalLM", {"vocab_size": 64, "hidden_size": 32, "num_heads": 4,
                                     "num_hidden_layers": 2, "chunk_size": 4}),
    "hifigan": hf("SpeechT5HifiGan", {
        "model_in_dim": 8, "upsample_initial_channel": 16, "upsample_rates": [2, 2],
        "upsample_kernel_sizes": [4, 4], "resblock_kernel_sizes": [3],
        "resblock_dilation_sizes": [[1, 3]]}, lambda: {"spectrogram": torch.randn(BATCH, 6, 8)}),
    # Draws the places that it masks.
    "vit-mae": hf("ViTMAEModel", VISION, image(32, BATCH, "pixel_values")),

    # diffusers.
    "unet-text": denoiser("UNet2DConditionModel", UNET | CONDITIONED | {
        "sample_size": 16, "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D"),
        "up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D")}, **STEP, **TEXT),
    "autoencoder": denoiser("AutoencoderKL", VAE, channels=3),
    "vq": denoiser("VQModel", VAE | {"num_vq_embeddings": 16}, channels=3),
    "dit": denoiser("DiTTransformer2DModel", {
        "num_attention_heads": 4, "attention_head_dim": 8, "in_channels": 4, "num_layers": 2,
        "sample_size": 16, "patch_size": 2, "norm_num_groups": 4, "out_channels": 8},
        timestep=lambda: torch.tensor([3, 7]), class_labels=lambda: torch.tensor([1, 2])),
    "pixart": denoiser("PixArtTransformer2DModel", {
        "num_attention_heads": 4, "attention_head_dim": 8, "in_channels": 4, "num_layers": 2,
        "sample_size": 16, "patch_size": 2, "norm_num_groups": 4, "cross_attention_dim": 32,
        "caption_channels": 32, "out_channels": 8},
        **TEXT, timestep=lambda: torch.tensor([3, 7])),
    "sd3": denoiser("SD3Transformer2DModel", {
        "sample_size": 16, "patch_size": 2, "in_channels": 4, "num_layers": 2,
        "attention_head_dim": 8, "num_attention_heads": 4, "joint_attention_dim": 32,
        "caption_projection_dim": 32, "pooled_projection_dim": 16, "out_channels": 4},
        **TEXT, pooled_projections=lambda: torch.randn(BATCH, 16),
        timestep=lambda: torch.tensor([3, 7])),
    "flux": Model(lambda: diffusers.FluxTransformer2DModel(
        in_channels=4, num_layers=1, num_single_layers=1, attention_head_dim=8,
        num_attention_heads=4, joint_attention_dim=32, pooled_projection_dim=16,
        axes_dims_rope=(4, 2, 2)), lambda: {
            "hidden_states": torch.randn(BATCH, 16, 4),
            "encoder_hidden_states": torch.randn(BATCH, 6, 32),
            "pooled_projections": torch.randn(BATCH, 16), "timestep": torch.tensor([0.3, 0.7]),
            "img_ids": torch.arange(48.0).reshape(16, 3), "txt_ids": torch.zeros(6, 3)}),
    "unet3d": denoiser("UNet3DConditionModel", UNET | CONDITIONED | {
        "sample_size": 16, "down_block_types": ("CrossAttnDownBlock3D", "DownBlock3D"),
        "up_block_types": ("UpBlock3D", "CrossAttnUpBlock3D")},
        sample=lambda: torch.randn(BATCH, 4, 2, 16, 16), **STEP, **TEXT),
    "tiny-vae": denoiser("AutoencoderTiny", {
        "encoder_block_out_channels": (8, 8), "decoder_block_out_channels": (8, 8),
        "num_encoder_blocks": (1, 1), "num_decoder_blocks": (1, 1)}, channels=3),
    "sana": denoiser("SanaTransformer2DModel", {
        "in_channels": 4, "out_channels": 4, "num_attention_heads": 4, "attention_head_dim": 8,
        "num_layers": 2, "num_cross_attention_heads": 4, "cross_attention_head_dim": 8,
        "cross_attention_dim": 32, "caption_channels": 32, "sample_size": 16},
        **TEXT, timestep=lambda: torch.tensor([3, 7])),
    # Rotates by complex numbers.
    "wan": denoiser("WanTransformer3DModel", {
        "patch_size": (1, 2, 2), "num_attention_heads": 4, "attention_head_dim": 12,
        "in_channels": 4, "out_channels": 4, "text_dim": 32, "freq_dim": 16, "ffn_dim": 32,
        "num_layers": 1, "rope_max_seq_len": 32},
        hidden_states=lambda: torch.randn(BATCH, 4, 2, 8, 8), **TEXT,
        timestep=lambda: torch.tensor([3, 7])),
    "ltx": denoiser("LTXVideoTransformer3DModel", {
        "in_channels": 4, "out_channels": 4, "num_attention_heads": 4, "attention_head_dim": 8,
        "cross_attention_dim": 32, "num_layers": 1, "caption_channels": 32},
        hidden_states=lambda: torch.randn(BATCH, 16, 4), **TEXT,
        timestep=lambda: torch.tensor([3, 7]), encoder_attention_mask=lambda: torch.ones(BATCH, 6),
        num_frames=2, height=2, width=4),
    "lumina2": denoiser("Lumina2Transformer2DModel", {
        "sample_size": 16, "patch_size": 2, "in_channels": 4, "hidden_size": 32, "num_layers": 2,
        "num_refiner_layers": 1, "num_attention_heads": 4, "num_kv_heads": 2,
        "axes_dim_rope": (4, 2, 2), "axes_lens": (32, 32, 32), "cap_feat_dim": 32},
        **TEXT, timestep=lambda: torch.tensor([0.3, 0.7]),
        encoder_attention_mask=lambda: torch.ones(BATCH, 6, dtype=torch.bool)),

    # x-transformers.
    "xt-decoder": wrapped(layers(xt.Decoder)),
    "xt-encoder": wrapped(layers(xt.Encoder)),
    "xt-rotary-glu": wrapped(layers(xt.Decoder, rotary_pos_emb=True, ff_glu=True, ff_swish=True,
                                    use_rmsnorm=True, attn_kv_heads=2)),
    "xt-alibi": wrapped(layers(xt.Decoder, alibi_pos_bias=True)),
    "xt-relative": wrapped(layers(xt.Decoder, rel_pos_bias=True)),
    "xt-sandwich": wrapped(layers(xt.Encoder, sandwich_norm=True, attn_qk_norm=True)),
    "xt-memories": wrapped(layers(xt.Encoder, attn_num_mem_kv=2), num_memory_tokens=2),
    "xt-hyper": wrapped(layers(xt.Decoder, num_residual_streams=2)),
    "xt-sparse": wrapped(layers(xt.Decoder, attn_sparse_topk=3)),
    "xt-shift": wrapped(layers(xt.Decoder, shift_tokens=1, macaron=True)),
    "xt-dynamic": wrapped(layers(xt.Decoder, dynamic_pos_bias=True)),
    "xt-seq2seq": Model(lambda: xt.XTransformer(
        dim=32, enc_num_tokens=64, enc_depth=1, enc_heads=4, enc_max_seq_len=16,
        dec_num_tokens=64, dec_depth=1, dec_heads=4, dec_max_seq_len=16),
        lambda: {key: torch.randint(0, 64, (BATCH, TOKENS)) for key in ("src", "tgt")}),
    "xt-vit": Model(lambda: xt.ViTransformerWrapper(
        image_size=32, patch_size=8, num_classes=8, attn_layers=layers(xt.Encoder)()),
        image(32, BATCH, "img")),
    "xt-continuous": Model(lambda: xt.ContinuousTransformerWrapper(
        dim_in=16, dim_out=8, max_seq_len=32, attn_layers=layers(xt.Encoder)()),
        lambda: {"x": torch.randn(BATCH, TOKENS, 16)}),

    # sentence-transformers.
    "st-mean": pooled(("Pooling", 32, "mean"), ("Dense", 32, 16), ("Normalize",)),
    "st-cls-max": pooled(("Pooling", 32, ("cls", "max"))),
    "st-layers": pooled(("WeightedLayerPooling", 32, 2, 1), ("Pooling", 32, "mean")),

    **{f"zoo-{name}": zoo(name) for name in torch_zoo.ZOO
       if not name.endswith(("-bf16", "-cached"))},
}
