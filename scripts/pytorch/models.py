"""The models of scripts/pytorch-models: each with small sizes and random weights.

MODELS maps a name to a function that makes (model, call, inputs, free): `call(model, *tensors)` runs it, `inputs(0)` and `inputs(1)`
are its tensors at two sizes, `free` has for each tensor the dimensions that may be left open.
"""
import torch

MODELS = {}
VOCABULARY = 99


def ids(*shape, most=VOCABULARY):
    return torch.randint(3, most, shape, generator=torch.Generator().manual_seed(sum(shape)))


def noise(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def only_tensors(output, names=("logits", "last_hidden_state", "pred_boxes", "prediction_logits", "audio_values", "image_embeds")):
    """Of a transformers output the fields that count."""
    fields = [getattr(output, n) for n in names if getattr(output, n, None) is not None]
    return fields or output[0]


def without_zeros(model):
    """Heads that begin with zeros would give scores that are all equal."""
    for p in model.parameters():
        if p.is_floating_point() and not p.any():
            torch.nn.init.normal_(p, std=0.02)
    return model


# ---- torchvision

def vision(name, make, size=64, other=96, batch=2, call=lambda m, x: m(x), open_size=True):
    def entry():
        return (make(), call, lambda i: [noise(batch + i, 3, other if i and open_size else size, other if i and open_size else size)],
                [(0, 2, 3) if open_size else (0,)])
    MODELS[name] = entry


def torchvision_models():
    import torchvision.models as tv
    from torchvision.models.swin_transformer import SwinTransformer, SwinTransformerBlockV2, PatchMergingV2
    for name, size, other in (("alexnet", 64, 96), ("vgg11", 64, 96), ("resnet18", 64, 96), ("resnet50", 64, 96), ("resnext50_32x4d", 64, 96),
                              ("mobilenet_v2", 64, 96), ("mobilenet_v3_small", 64, 96), ("shufflenet_v2_x0_5", 64, 96),
                              ("squeezenet1_1", 64, 96), ("efficientnet_b0", 64, 96), ("efficientnet_v2_s", 64, 96),
                              ("regnet_y_400mf", 64, 96), ("regnet_x_400mf", 64, 96), ("densenet121", 64, 96), ("googlenet", 64, 96),
                              ("inception_v3", 128, 160), ("mnasnet0_5", 64, 96), ("convnext_tiny", 64, 96)):
        extra = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
        vision(f"tv_{name}", lambda name=name, extra=extra: getattr(tv, name)(weights=None, **extra), size, other)
    vision("tv_vit", lambda: without_zeros(tv.VisionTransformer(32, 8, 2, 4, 64, 128)), 32, open_size=False)
    swin = dict(patch_size=[4, 4], embed_dim=32, depths=[2, 2], num_heads=[2, 4], window_size=[4, 4])
    vision("tv_swin", lambda: SwinTransformer(**swin), 64, open_size=False)
    vision("tv_swin_v2", lambda: SwinTransformer(**swin, block=SwinTransformerBlockV2, downsample_layer=PatchMergingV2), 64, open_size=False)
    vision("tv_swin_padded", lambda: SwinTransformer(**swin), 72, open_size=False)
    vision("tv_maxvit", lambda: tv.MaxVit((64, 64), 16, 4, [16, 32], [1, 1], 16, 0.0), 64, open_size=False)
    seg = dict(weights=None, weights_backbone=None)
    first = lambda m, x: m(x)["out"]
    vision("tv_fcn", lambda: tv.segmentation.fcn_resnet50(**seg), 64, 96, call=first)
    vision("tv_deeplabv3", lambda: tv.segmentation.deeplabv3_mobilenet_v3_large(**seg), 64, 96, call=first)
    vision("tv_lraspp", lambda: tv.segmentation.lraspp_mobilenet_v3_large(**seg), 64, 96, call=first)

    def video(name):
        MODELS[f"tv_{name}"] = lambda: (getattr(tv.video, name)(weights=None), lambda m, x: m(x),
                                        lambda i: [noise(2 + i, 3, 16 + 8 * i, 32, 32)], [(0, 2)])
    for name in ("r3d_18", "mc3_18", "r2plus1d_18"):
        video(name)
    MODELS["tv_raft_small"] = lambda: (tv.optical_flow.raft_small(weights=None), lambda m, a, b: m(a, b, num_flow_updates=2)[-1],
                                       lambda i: [noise(1, 3, 128, 128), noise(1, 3, 128, 128) + 0.1], [(), ()])

    def retina():
        from torchvision.models.detection import retinanet_resnet50_fpn
        model = retinanet_resnet50_fpn(weights=None, weights_backbone=None, num_classes=5)

        def heads(m, x):
            features = list(m.backbone(x).values())
            found = m.head(features)
            return found["cls_logits"], found["bbox_regression"]
        return model, heads, lambda i: [noise(2 + i, 3, 160 + 32 * i, 160 + 32 * i)], [(0, 2, 3)]
    MODELS["tv_retinanet_heads"] = retina

    def heads(name, make):
        """What a detector computes of an image before boxes are chosen, which torch.export takes."""
        def entry():
            def call(m, x):
                found = m.head(list(m.backbone(x).values()))
                return tuple(found[key] for key in sorted(found))
            return make(), call, lambda i: [noise(2 + i, 3, 320 if "ssd" in name else 160 + 32 * i, 320 if "ssd" in name else 160 + 32 * i)], [(0, 2, 3)]
        MODELS[name] = entry
    heads("tv_fcos_heads", lambda: tv.detection.fcos_resnet50_fpn(weights=None, weights_backbone=None, num_classes=5))
    heads("tv_ssdlite_heads", lambda: tv.detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5))

    def proposals(name):
        def entry():
            model = getattr(tv.detection, name)(weights=None, weights_backbone=None, num_classes=2)

            def call(m, x):
                features = list(m.backbone(x).values())
                scores, boxes = m.rpn.head(features)
                return (*scores, *boxes)
            # A level of the pyramid is half of the one before it: the program relies on its size being odd.
            return model, call, lambda i: [noise(2 + i, 3, 160 + 64 * i, 160 + 64 * i)], [(0, 2, 3)]
        MODELS[f"tv_{name.split('_')[0]}_proposals"] = entry
    for name in ("fasterrcnn_mobilenet_v3_large_320_fpn", "maskrcnn_resnet50_fpn", "keypointrcnn_resnet50_fpn"):
        proposals(name)
    for name, frames in (("mvit_v2_s", 16), ("swin3d_t", 8)):
        MODELS[f"tv_{name}"] = lambda name=name, frames=frames: (getattr(tv.video, name)(weights=None), lambda m, x: m(x),
                                                                 lambda i: [noise(1 + i, 3, frames, 224 if "mvit" in name else 64, 224 if "mvit" in name else 64)], [(0,)])


# ---- timm

# Sizes stay open, at 160 and 192: PyTorch fixes a size that makes a map of one element.
TIMM_OPEN = """convnext_atto convnextv2_atto ghostnet_050 ghostnetv2_100 ghostnetv3_050 res2net50_26w_4s hrnet_w18_small nf_resnet26 eca_nfnet_l0
 repvgg_a0 fastvit_t8 poolformer_s12 poolformerv2_s12 cspresnet50 cspdarknet53 darknet53 dla34 dpn48b efficientnet_lite0
 tf_efficientnetv2_b0 gcresnext26ts inception_next_atto mnasnet_small mobilenetv4_conv_small mobileone_s0 regnety_002 regnetz_b16
 rexnet_100 repghostnet_050 repvit_m0_9 resnest14d resnetv2_50 rdnet_tiny selecsls42 semnasnet_075 skresnet18 starnet_s1 tinynet_e
 tresnet_m ese_vovnet19b_dw xception41 fasternet_t0 lcnet_050 hardcorenas_a gernet_s ecaresnet26t convmixer_768_32 inception_v4
 legacy_xception""".split()
# One size of images, and what makes the model small.
TIMM_FIXED = {
    **{name: (64, dict(img_size=64)) for name in (
        "vit_tiny_patch16_224", "deit_tiny_patch16_224", "swinv2_cr_tiny_ns_224", "mixer_s32_224", "gmlp_s16_224", "resmlp_12_224", "gmixer_24_224", "cait_xxs24_224",
        "pit_ti_224", "visformer_tiny", "convit_tiny", "coat_tiny", "coat_lite_tiny", "vit_relpos_small_patch16_224",
        "vit_srelpos_small_patch16_224", "xcit_nano_12_p16_224", "volo_d1_224", "tiny_vit_5m_224", "twins_pcpvt_small", "hiera_tiny_224")},
    **{name: (64, dict(img_size=64, depth=2, embed_dim=64, num_heads=2)) for name in ("beit_base_patch16_224", "beitv2_base_patch16_224", "vit_small_patch16_dinov3")},
    "eva02_tiny_patch14_224": (56, dict(img_size=56, depth=2)), "flexivit_small": (64, dict(img_size=64, depth=2)), "samvit_base_patch16": (64, dict(img_size=64, depth=2, embed_dim=64, num_heads=2)),
    **{name: (128, {}) for name in (
        "davit_tiny", "focalnet_tiny_srf", "nextvit_small", "caformer_s18", "convformer_s18", "mobilenetv4_hybrid_medium", "edgenext_xx_small", "mobilevit_xxs", "mobilevitv2_050",
        "lambda_resnet26t", "pvt_v2_b0", "efficientvit_b0", "sehalonet33ts", "mambaout_femto", "shvit_s1")},
    "swin_tiny_patch4_window7_224": (112, dict(img_size=112, depths=(1, 1, 2, 1))), "swinv2_tiny_window8_256": (128, dict(img_size=128, depths=(1, 1, 2, 1))),
    "maxvit_pico_rw_256": (128, dict(img_size=128)), "maxxvit_rmlp_nano_rw_256": (128, dict(img_size=128)), "coatnet_pico_rw_224": (96, dict(img_size=96)),
    "coatnext_nano_rw_224": (96, dict(img_size=96)), "efficientformer_l1": (224, {}), "efficientformerv2_s0": (224, {}), "levit_128s": (224, {}), "crossvit_tiny_240": (240, {}),
    "tnt_s_patch16_224": (64, dict(img_size=64)), "twins_svt_small": (224, {}), "botnet26t_256": (256, {}), "halonet26t": (128, {}), "nest_tiny": (224, {}), "sequencer2d_s": (64, dict(img_size=64)),
    "gcvit_xxtiny": (224, {}), "mvitv2_tiny": (224, {}), "efficientvit_m0": (224, {}), "vitamin_small_224": (64, dict(img_size=64)), "swiftformer_xs": (224, {}), "haloregnetz_b": (128, {})}


def timm_models():
    def make(name, **more):
        import timm
        return without_zeros(timm.create_model(name, pretrained=False, num_classes=12, **more))
    for name in TIMM_OPEN:
        vision(f"timm_{name}", lambda name=name: make(name), 160, 192)
    for name, (size, more) in TIMM_FIXED.items():
        vision(f"timm_{name}", lambda name=name, more=more: make(name, **more), size, open_size=False)


# ---- transformers

TINY = dict(vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
            max_position_embeddings=128, pad_token_id=0, bos_token_id=1, eos_token_id=2)


def made(kind, auto, **more):
    """A model of a configuration class, its sizes small; None: what the class itself has."""
    import transformers
    more = {key: value for key, value in more.items() if value is not None}
    config = transformers.AutoConfig.for_model(kind, **more)
    config.use_cache = False
    config._attn_implementation = "sdpa"
    try:
        model = getattr(transformers, auto).from_config(config)
    except ValueError:
        config._attn_implementation = "eager"
        model = getattr(transformers, auto).from_config(config)
    return without_zeros(model)


def mask_of(batch, length):
    mask = torch.ones(batch, length, dtype=torch.int64)
    mask[0, length - 2:] = 0
    return mask


def encoder(kind, auto="AutoModel", name=None, **more):
    def call(m, i, a):
        return only_tensors(m(input_ids=i, attention_mask=a))
    MODELS[name or kind] = lambda: (made(kind, auto, **{**TINY, **more}), call, lambda i: [ids(2 + i, 16 + 8 * i), mask_of(2 + i, 16 + 8 * i)],
                            [(0, 1), (0, 1)])


def decoder(kind, name=None, auto="AutoModelForCausalLM", base=TINY, **more):
    def call(m, i):
        return only_tensors(m(input_ids=i, use_cache=False))
    MODELS[name or kind] = lambda: (made(kind, auto, **{**base, **more}), call, lambda i: [ids(2 + i, 16 + 8 * i)], [(0, 1)])


def cached(kind, **more):
    """A token's step of a decoder: what earlier tokens left in the cache comes as inputs, and goes out one position longer."""
    def call(m, i, *cache):
        from transformers import DynamicCache
        past = DynamicCache(config=m.config)
        for layer in range(len(cache) // 2):
            past.update(cache[2 * layer], cache[2 * layer + 1], layer)
        out = m(input_ids=i, past_key_values=past, use_cache=True)
        return out.logits, *(t for layer in out.past_key_values.layers for t in (layer.keys, layer.values))

    def tensors(i, heads):
        return [ids(2 + i, 1), *(noise(2 + i, heads, 7 + 4 * i, 16) + k for k in range(4))]
    heads = more.get("num_key_value_heads", 4)
    MODELS[f"{kind}_cached"] = lambda: (made(kind, "AutoModelForCausalLM", **{**TINY, **more}), call, lambda i: tensors(i, heads), [(0,)] + 4 * [(0, 2)])


def pair(kind, auto="AutoModelForSeq2SeqLM", name=None, **more):
    def call(m, i, d):
        return only_tensors(m(input_ids=i, decoder_input_ids=d, use_cache=False))
    base = dict(vocab_size=VOCABULARY, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                encoder_ffn_dim=128, decoder_ffn_dim=128, max_position_embeddings=128, pad_token_id=0, bos_token_id=1, eos_token_id=2)
    MODELS[name or kind] = lambda: (made(kind, auto, **{**base, **more}), call,
                                    lambda i: [ids(2 + i, 16 + 8 * i), ids(2 + i, 7 + 2 * i)], [(0, 1), (0, 1)])


def speech(kind, auto="AutoModel", **more):
    base = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, conv_dim=(32, 32, 32), conv_stride=(5, 2, 2),
                conv_kernel=(10, 3, 3), num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, num_feat_extract_layers=3,
                vocab_size=32)
    MODELS[kind] = lambda: (made(kind, auto, **{**base, **more}), lambda m, x: only_tensors(m(x)),
                            lambda i: [noise(2 + i, 1600 + 320 * i)], [(0, 1)])


def picture(kind, auto="AutoModel", size=32, other=32, **more):
    MODELS[kind] = lambda: (made(kind, auto, **more), lambda m, x: only_tensors(m(pixel_values=x)),
                            lambda i: [noise(2 + i, 3, other if i else size, other if i else size)], [(0, 2, 3) if size != other else (0,)])


def transformers_text():
    for kind in ("bert", "roberta", "electra", "xlm-roberta", "camembert", "ernie", "data2vec-text", "roformer", "nystromformer", "megatron-bert",
                 "mra", "rembert", "ibert", "layoutlm", "esm", "modernbert"):
        encoder(kind)
    encoder("albert", embedding_size=32)
    encoder("distilbert", dim=64, n_layers=2, n_heads=4, hidden_dim=128)
    encoder("mpnet")
    encoder("squeezebert", embedding_size=64)
    encoder("mobilebert", embedding_size=64, intra_bottleneck_size=32)
    encoder("deberta", relative_attention=True, pos_att_type=["c2p", "p2c"])
    encoder("deberta-v2", relative_attention=True, pos_att_type=["c2p", "p2c"], position_buckets=16)
    encoder("convbert", embedding_size=64)
    MODELS["fnet"] = lambda: (made("fnet", "AutoModel", **TINY), lambda m, i: only_tensors(m(i)), lambda i: [ids(2 + i, 16 + 8 * i)], [(0, 1)])
    encoder("funnel", architectures=["FunnelModel"], num_hidden_layers=None, d_model=64, n_head=4, d_head=16, d_inner=128, block_sizes=[1, 1], num_decoder_layers=1)
    encoder("xlnet", max_position_embeddings=None, d_model=64, n_layer=2, n_head=4, d_inner=128)
    for kind in ("nomic_bert", "canine", "longformer", "big_bird", "yoso", "lilt", "eurobert", "xlm-roberta-xl", "roberta-prelayernorm", "ernie_m", "splinter", "xmod"):
        encoder(kind, **{"longformer": dict(attention_window=8), "big_bird": dict(attention_type="original_full")}.get(kind, {}))
    encoder("xlm", emb_dim=64, n_layers=2, n_heads=4, n_words=VOCABULARY)
    encoder("flaubert", emb_dim=64, n_layers=2, n_heads=4, n_words=VOCABULARY)
    encoder("bert", "AutoModelForTokenClassification", "bert_tokens")
    encoder("bert", "AutoModelForMaskedLM", "bert_masked")
    encoder("bert", "AutoModelForSequenceClassification", "bert_class")


def transformers_decoders():
    small = dict(n_embd=64, n_layer=2, n_head=4, n_positions=128)
    for kind in ("gpt2", "gptj", "codegen"):
        decoder(kind, **small, **({"rotary_dim": 8} if kind != "gpt2" else {}))
    decoder("gpt_neo", num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]])
    decoder("gpt_bigcode", **small)
    decoder("opt", ffn_dim=128, word_embed_proj_dim=64)
    decoder("bloom", n_layer=2, n_head=4)
    decoder("mpt", d_model=64, n_layers=2, n_heads=4, max_seq_len=128)
    decoder("falcon")
    decoder("xglm", d_model=64, num_layers=2, attention_heads=4, ffn_dim=128)
    for kind in ("gpt_neox", "phi", "biogpt", "persimmon"):
        decoder(kind)
    heads = dict(num_key_value_heads=2)
    for kind in ("llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "phi3", "starcoder2", "olmo", "olmo2", "cohere", "granite", "glm",
                 "helium", "smollm3", "ernie4_5", "nemotron", "exaone4", "seed_oss", "stablelm", "cohere2", "glm4", "olmo3", "arcee", "apertus", "ministral",
                 "hunyuan_v1_dense", "vaultgemma", "diffllama", "bitnet", "hyperclovax", "nanochat", "youtu", "jais2", "cwm"):
        decoder(kind, **heads, head_dim=16)
    decoder("openai-gpt", n_embd=64, n_layer=2, n_head=4, n_positions=128)
    decoder("ctrl", n_embd=64, n_layer=2, n_head=4, dff=128, n_positions=128)
    decoder("gpt_neox_japanese", intermediate_multiple_size=2)
    decoder("lfm2", **heads, layer_types=["conv", "full_attention"])
    decoder("doge", **heads, head_dim=16)
    decoder("bamba", **heads, mamba_n_heads=8, mamba_d_head=16, mamba_d_state=8, mamba_chunk_size=8, attn_layer_indices=[1])
    decoder("falcon_h1", **heads, head_dim=16, mamba_n_heads=8, mamba_d_head=16, mamba_d_state=8, mamba_d_ssm=128, mamba_chunk_size=8)
    decoder("zamba", mamba_d_state=8, n_mamba_heads=2, attn_layer_period=2, attn_layer_offset=1, num_key_value_heads=4, use_mamba_kernels=False)
    decoder("granitemoehybrid", **heads, num_local_experts=4, num_experts_per_tok=2, shared_intermediate_size=64, layer_types=["mamba", "attention"], mamba_n_heads=8,
            mamba_d_head=16, mamba_d_state=8, mamba_chunk_size=8)
    decoder("gemma3_text", **heads, head_dim=16, sliding_window=8)
    for kind in ("llama", "qwen2", "qwen3", "mistral", "phi3", "olmo2"):
        cached(kind, **heads, head_dim=16)
    cached("gpt2", n_embd=64, n_layer=2, n_head=4, n_positions=128)
    for kind in ("gpt_neox", "opt", "phi"):
        cached(kind, **({"ffn_dim": 128, "word_embed_proj_dim": 64} if kind == "opt" else {}))
    moe = dict(**heads, head_dim=16, num_local_experts=4, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
               shared_expert_intermediate_size=32)
    for kind in ("mixtral", "qwen2_moe", "qwen3_moe", "olmoe", "granitemoe", "phimoe", "gpt_oss", "ernie4_5_moe"):
        decoder(kind, **moe)
    decoder("deepseek_v3", **{**moe, "num_key_value_heads": 4, "n_routed_experts": 4, "n_group": 2, "topk_group": 1, "kv_lora_rank": 16,
                              "q_lora_rank": 16, "qk_rope_head_dim": 8, "head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 16, "n_shared_experts": 1,
                              "first_k_dense_replace": 1})
    decoder("mamba", state_size=8, expand=2)
    decoder("mamba2", state_size=8, num_heads=8, head_dim=16, n_groups=1, chunk_size=8)
    decoder("falcon_mamba", state_size=8)
    decoder("rwkv", attention_hidden_size=64, context_length=128)
    decoder("recurrent_gemma", num_key_value_heads=1, lru_width=64, attention_window_size=8, block_types=["recurrent", "attention"])
    decoder("jamba", num_key_value_heads=2, attn_layer_period=2, attn_layer_offset=1, num_experts=2, mamba_d_state=8, use_mamba_kernels=False)
    decoder("zamba2", layer_types=["mamba", "hybrid"], hybrid_layer_ids=[1], num_key_value_heads=4, mamba_d_state=8, n_mamba_heads=8, chunk_size=8, use_mamba_kernels=False)
    decoder("xlstm", num_heads=4, chunk_size=16)


def transformers_pairs():
    pair("bart")
    pair("mbart")
    pair("marian", decoder_vocab_size=VOCABULARY, decoder_start_token_id=0)
    pair("pegasus")
    pair("blenderbot")
    pair("m2m_100")
    pair("led", attention_window=[8, 8], max_encoder_position_embeddings=128, max_decoder_position_embeddings=128)
    pair("prophetnet", hidden_size=64, num_encoder_layers=2, num_decoder_layers=2, num_encoder_attention_heads=4, num_decoder_attention_heads=4)
    pair("plbart")
    pair("mvp")
    pair("blenderbot-small")
    pair("nllb-moe", num_experts=4, encoder_sparse_step=2, decoder_sparse_step=2)
    pair("pegasus_x", block_size=8, num_global_tokens=4)
    text = dict(vocab_size=VOCABULARY, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, num_key_value_heads=2, head_dim=16,
                sliding_window=8, pad_token_id=0, bos_token_id=1, eos_token_id=2)
    pair("t5gemma", vocab_size=None, d_model=None, encoder=text, decoder={**text, "cross_attention_hidden_size": 64})
    t5 = dict(d_ff=128, d_kv=16, num_layers=2, num_heads=4, decoder_start_token_id=0)
    for kind in ("t5", "mt5", "umt5", "switch_transformers", "longt5"):
        pair(kind, **t5, **({"num_experts": 4, "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1} if kind.startswith("switch") else {}))


def transformers_speech():
    for kind in ("wav2vec2", "hubert", "wavlm", "unispeech", "unispeech-sat", "data2vec-audio"):
        speech(kind)
    speech("sew", squeeze_factor=2)
    speech("wav2vec2-conformer")

    def whisper():
        model = made("whisper", "AutoModelForSpeechSeq2Seq", vocab_size=VOCABULARY, d_model=64, encoder_layers=2, decoder_layers=2,
                     encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, num_mel_bins=16,
                     max_source_positions=50, max_target_positions=64, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)
        return (model, lambda m, x, d: only_tensors(m(input_features=x, decoder_input_ids=d, use_cache=False)),
                lambda i: [noise(2 + i, 16, 100), ids(2 + i, 5 + 3 * i)], [(0,), (0, 1)])
    MODELS["whisper"] = whisper

    def speech_to_text():
        model = made("speech_to_text", "AutoModelForSpeechSeq2Seq", vocab_size=VOCABULARY, d_model=64, encoder_layers=2, decoder_layers=2,
                     encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, input_feat_per_channel=16,
                     conv_channels=32, max_source_positions=200, max_target_positions=64)
        return (model, lambda m, x, d: only_tensors(m(input_features=x, decoder_input_ids=d, use_cache=False)),
                lambda i: [noise(2 + i, 64 + 32 * i, 16), ids(2 + i, 5 + 3 * i)], [(0, 1), (0, 1)])
    MODELS["speech_to_text"] = speech_to_text

    def moonshine():
        model = made("moonshine", "AutoModelForSpeechSeq2Seq", **{**TINY, "encoder_num_hidden_layers": 2, "decoder_num_hidden_layers": 2,
                                                                 "encoder_num_attention_heads": 4, "decoder_num_attention_heads": 4})
        return (model, lambda m, x, d: only_tensors(m(input_values=x, decoder_input_ids=d, use_cache=False)),
                lambda i: [noise(2 + i, 4000 + 800 * i), ids(2 + i, 5 + 3 * i)], [(0, 1), (0, 1)])
    MODELS["moonshine"] = moonshine
    MODELS["audio_spectrogram"] = lambda: (
        made("audio-spectrogram-transformer", "AutoModel", hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
             max_length=64, num_mel_bins=32), lambda m, x: only_tensors(m(x)), lambda i: [noise(2 + i, 64, 32)], [(0,)])

    def vits():
        model = made("vits", "AutoModel", vocab_size=38, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, ffn_dim=128)
        return (model.text_encoder, lambda m, i, a: m(i, a)[0], lambda i: [ids(2 + i, 12 + 4 * i, most=38), torch.ones(2 + i, 12 + 4 * i, 1)],
                [(0, 1), (0, 1)])
    MODELS["vits_text"] = vits

    def features(kind, auto="AutoModel", mel=80, **more):
        MODELS[kind] = lambda: (made(kind, auto, **{**TINY, **more}), lambda m, x: only_tensors(m(x)), lambda i: [noise(2 + i, 40 + 8 * i, mel)], [(0, 1)])
    features("wav2vec2-bert", mel=160, feature_projection_input_dim=160, conv_depthwise_kernel_size=5)

    def seamless():
        model = made("seamless_m4t", "AutoModelForSeq2SeqLM", vocab_size=VOCABULARY, hidden_size=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
                     decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, speech_encoder_layers=1, t2u_encoder_layers=1, t2u_decoder_layers=1, pad_token_id=0)
        return (model, lambda m, i, d: only_tensors(m(input_ids=i, decoder_input_ids=d, use_cache=False)), lambda i: [ids(2 + i, 12 + 4 * i), ids(2 + i, 5 + 2 * i)], [(0, 1), (0, 1)])
    MODELS["seamless"] = seamless
    MODELS["encodec_encoder"] = lambda: (made("encodec", "AutoModel", num_filters=8, hidden_size=32, codebook_dim=32, upsampling_ratios=[4, 2]).encoder,
                                         lambda m, x: m(x), lambda i: [noise(2 + i, 1, 320 + 64 * i)], [(0, 2)])
    MODELS["univnet"] = lambda: (made("univnet", "AutoModel", model_in_channels=16, model_hidden_channels=8, num_mel_bins=20, resblock_kernel_sizes=[3, 3, 3]),
                                 lambda m, x, z: m(x, z).waveforms, lambda i: [noise(2 + i, 10, 20), noise(2 + i, 10, 16)], [(0,), (0,)])

    def series(kind, **more):
        MODELS[kind] = lambda: (made(kind, "AutoModel", context_length=32, num_input_channels=3, d_model=16, **more), lambda m, x: m(past_values=x).last_hidden_state,
                                lambda i: [noise(2 + i, 32, 3)], [(0,)])
    series("patchtst", patch_length=8, patch_stride=8, num_hidden_layers=2, num_attention_heads=4, ffn_dim=32)
    series("patchtsmixer", patch_length=8, patch_stride=8, num_layers=2)
    MODELS["encodec_decoder"] = lambda: (made("encodec", "AutoModel", num_filters=8, hidden_size=32, codebook_dim=32, upsampling_ratios=[4, 2]).decoder,
                                         lambda m, x: m(x), lambda i: [noise(2 + i, 32, 20 + 5 * i)], [(0, 2)])


def transformers_vision():
    base = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, image_size=32, patch_size=8)
    for kind in ("vit", "deit", "beit", "dinov2", "ijepa", "vit_msn", "data2vec-vision", "dinov3_vit"):
        picture(kind, **base)
    swin = dict(image_size=64, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4)
    picture("swin", size=64, other=64, **swin)
    picture("swinv2", size=64, other=64, **swin)
    picture("donut-swin", size=64, other=64, **swin)
    picture("convnext", size=64, other=96, depths=[1, 1, 1, 1], hidden_sizes=[16, 32, 48, 64])
    picture("convnextv2", size=64, other=96, depths=[1, 1, 1, 1], hidden_sizes=[16, 32, 48, 64])
    stages = dict(embedding_size=16, hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1])
    picture("resnet", size=64, other=96, **stages)
    picture("regnet", size=64, other=96, **stages)
    picture("bit", size=64, other=96, embedding_size=32, hidden_sizes=[32, 64, 96, 128], depths=[1, 1, 1, 1], num_groups=8)
    picture("mobilenet_v1", size=64, other=96)
    picture("mobilenet_v2", size=64, other=96)
    picture("efficientnet", size=64, other=64, image_size=64, width_coefficient=0.5, depth_coefficient=0.3)
    picture("poolformer", size=64, other=96, hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1])
    picture("segformer", "AutoModelForSemanticSegmentation", size=64, other=64, hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1],
            num_attention_heads=[1, 2, 3, 4], decoder_hidden_size=32)
    picture("pvt_v2", size=64, other=64, image_size=64, hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 3, 4])
    picture("focalnet", size=64, other=64, image_size=64, embed_dim=16, depths=[1, 1], hidden_sizes=[16, 32], focal_levels=[2, 2],
            focal_windows=[3, 3])
    picture("mobilevit", size=64, other=64, image_size=64, hidden_sizes=[32, 48, 64], neck_hidden_sizes=[8, 16, 24, 32, 48, 64, 80])
    picture("levit", size=64, other=64, image_size=64, hidden_sizes=[32, 48, 64], num_attention_heads=[2, 3, 4], depths=[1, 1, 1], key_dim=[8, 8, 8])
    picture("cvt", size=64, other=64, embed_dim=[16, 32, 48], num_heads=[1, 2, 3], depth=[1, 2, 3])
    picture("hiera", size=64, other=64, image_size=[64, 64], embed_dim=16, depths=[1, 1, 1, 1], num_heads=[1, 2, 4, 8])
    picture("dpt", "AutoModelForDepthEstimation", size=64, other=64, **{**base, "image_size": 64, "patch_size": 16, "num_hidden_layers": 4}, backbone_out_indices=[0, 1, 2, 3],
            neck_hidden_sizes=[8, 16, 24, 32], fusion_hidden_size=16)
    picture("glpn", "AutoModelForDepthEstimation", size=64, other=64, hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 3, 4],
            decoder_hidden_size=16)
    picture("dinov3_convnext", size=64, other=96, hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1])
    picture("vitdet", size=32, other=32, **base, window_size=0)
    picture("dinov2_with_registers", **base)
    picture("pixio", **base)
    picture("hgnet_v2", "AutoModelForImageClassification", size=64, other=96)
    picture("pvt", size=64, other=64, image_size=64, hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 3, 4])
    picture("swiftformer", size=64, other=64, image_size=64, embed_dims=[16, 32, 48, 64], depths=[1, 1, 1, 1])
    picture("mobilevitv2", size=64, other=64, image_size=64, width_multiplier=0.5)
    picture("swin2sr", "AutoModelForImageToImage", size=32, other=32, image_size=32, embed_dim=16, depths=[2, 2], num_heads=[2, 2], window_size=4)
    picture("depth_anything", "AutoModelForDepthEstimation", size=56, other=56, neck_hidden_sizes=[8, 16, 24, 32], fusion_hidden_size=16, reassemble_hidden_size=64,
            backbone_config=dict(model_type="dinov2", hidden_size=64, num_hidden_layers=4, num_attention_heads=4, image_size=56, patch_size=14, reshape_hidden_states=False,
                                 out_features=["stage1", "stage2", "stage3", "stage4"]))

    def film(kind, frames=4, auto="AutoModel", **more):
        MODELS[kind] = lambda: (made(kind, auto, **{**base, "num_frames": frames, **more}), lambda m, x: only_tensors(m(pixel_values=x)),
                                lambda i: [noise(2 + i, frames, 3, 32, 32)], [(0,)])
    film("timesformer")
    film("videomae", tubelet_size=2)
    film("vivit", tubelet_size=[2, 8, 8])

    def sam():
        import transformers
        config = transformers.SamConfig(vision_config=dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, image_size=64, patch_size=16, window_size=2,
                                                           global_attn_indexes=[1], output_channels=32, mlp_dim=128),
                                        prompt_encoder_config=dict(hidden_size=32, image_size=64, patch_size=16, mask_input_channels=4),
                                        mask_decoder_config=dict(hidden_size=32, mlp_dim=64, num_attention_heads=4, iou_head_hidden_dim=32))
        return (transformers.SamModel(config), lambda m, x, p: (lambda o: (o.iou_scores, o.pred_masks))(m(pixel_values=x, input_points=p)),
                lambda i: [noise(2 + i, 3, 64, 64), 20 + 10 * noise(2 + i, 1, 2, 2)], [(0,), (0,)])
    MODELS["sam"] = sam

    def blip():
        import transformers
        config = transformers.BlipConfig(text_config={**TINY, "encoder_hidden_size": 64}, vision_config=dict(base), projection_dim=32, image_text_hidden_size=32)
        return (transformers.BlipForImageTextRetrieval(config), lambda m, x, i: m(pixel_values=x, input_ids=i).itm_score,
                lambda i: [noise(2 + i, 3, 32, 32), ids(2 + i, 9 + 3 * i)], [(0,), (0, 1)])
    MODELS["blip"] = blip

    def vilt():
        return (made("vilt", "AutoModel", **{**TINY, **base, "max_image_length": -1}), lambda m, i, x: only_tensors(m(input_ids=i, pixel_values=x, pixel_mask=torch.ones(x.shape[0], 32, 32))),
                lambda i: [ids(2 + i, 9 + 3 * i), noise(2 + i, 3, 32, 32)], [(0, 1), (0,)])
    MODELS["vilt"] = vilt

    def llava():
        config = dict(text_config=dict(model_type="llama", **{**TINY, "num_key_value_heads": 2}), vision_config=dict(model_type="clip_vision_model", **base), image_token_id=98)
        return (made("llava", "AutoModelForImageTextToText", **config), lambda m, i, x: only_tensors(m(input_ids=i, pixel_values=x, use_cache=False)),
                lambda i: [torch.cat([torch.full((2 + i, 16), 98), ids(2 + i, 5 + 3 * i, most=90)], 1), noise(2 + i, 3, 32, 32)], [(0,), (0,)])
    MODELS["llava"] = llava
    picture("upernet", "AutoModelForSemanticSegmentation", size=64, other=64, hidden_size=32, pool_scales=[1, 2])
    picture("yolos", "AutoModelForObjectDetection", size=64, other=64, **{**base, "image_size": [64, 64]}, num_detection_tokens=10)
    for kind in ("clip_vision_model", "siglip_vision_model"):
        picture(kind, **base)

    def both(kind):
        def entry():
            text, image = dict(TINY), dict(base)
            return (made(kind, "AutoModel", text_config=text, vision_config=image, projection_dim=32),
                    lambda m, i, x: (lambda o: (o.text_embeds, o.image_embeds, o.logits_per_image))(m(input_ids=i, pixel_values=x)),
                    lambda i: [ids(2 + i, 16 + 8 * i), noise(3 + i, 3, 32, 32)], [(0, 1), (0,)])
        MODELS[kind] = entry
    both("clip")
    both("siglip")

    def detr(kind):
        def entry():
            import transformers
            backbone = transformers.ResNetConfig(embedding_size=16, hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1], out_features=["stage4"])
            more = dict(d_model=64, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64,
                        decoder_ffn_dim=64, num_queries=10, use_timm_backbone=False, use_pretrained_backbone=False, backbone=None)
            return (made(kind, "AutoModelForObjectDetection", backbone_config=backbone, **more),
                    lambda m, x: only_tensors(m(pixel_values=x)), lambda i: [noise(2 + i, 3, 64, 64)], [(0,)])
        MODELS[kind] = entry
    for kind in ("detr", "conditional_detr"):  # others choose queries by scores, which without training are equal but for rounding
        detr(kind)


# ---- diffusion

def diffusion():
    def unet():
        from diffusers import UNet2DConditionModel
        model = UNet2DConditionModel(sample_size=16, in_channels=4, out_channels=4, layers_per_block=1, block_out_channels=(32, 64),
                                     down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
                                     cross_attention_dim=32, attention_head_dim=8, norm_num_groups=8)
        return (model, lambda m, x, t, c: m(x, t, c).sample,
                lambda i: [noise(2 + i, 4, 16 + 8 * i, 16 + 8 * i), torch.full((2 + i,), 7 + i), noise(2 + i, 5 + i, 32)], [(0, 2, 3), (0,), (0, 1)])
    MODELS["diffusers_unet"] = unet

    def vae(part):
        def entry():
            from diffusers import AutoencoderKL
            model = AutoencoderKL(block_out_channels=(16, 32), down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
                                  norm_num_groups=8, latent_channels=4)
            if part == "decoder":
                return model, lambda m, x: m.decode(x).sample, lambda i: [noise(2 + i, 4, 8 + 4 * i, 8 + 4 * i)], [(0, 2, 3)]
            return model, lambda m, x: m.encode(x).latent_dist.mean, lambda i: [noise(2 + i, 3, 32 + 8 * i, 32 + 8 * i)], [(0, 2, 3)]
        MODELS[f"diffusers_vae_{part}"] = entry
    vae("encoder")
    vae("decoder")

    def transformer():
        from diffusers import DiTTransformer2DModel
        model = DiTTransformer2DModel(num_attention_heads=4, attention_head_dim=8, in_channels=4, num_layers=2, sample_size=8, patch_size=2,
                                      norm_num_groups=8, num_embeds_ada_norm=10)
        return (model, lambda m, x, t, c: m(x, t, c).sample,
                lambda i: [noise(2 + i, 4, 8, 8), torch.full((2 + i,), 7), torch.full((2 + i,), 3)], [(0,), (0,), (0,)])
    MODELS["diffusers_dit"] = transformer


torchvision_models()
timm_models()
transformers_text()
transformers_decoders()
transformers_pairs()
transformers_speech()
transformers_vision()
diffusion()
