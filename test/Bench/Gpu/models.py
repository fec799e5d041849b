"""Whole models with random weights, as their libraries make them: torchvision's, and those of transformers from small configurations.

A model is made where it is needed, so that these libraries are asked for only by who measures models."""
import torch
from torch import nn

from .case import Later, add, b16, f32, i64, t

IMAGES = ('alexnet vgg11 resnet18 resnext50_32x4d wide_resnet50_2 densenet121 googlenet inception_v3 squeezenet1_1 shufflenet_v2_x1_0 mobilenet_v2 '
          'mobilenet_v3_large mnasnet1_0 efficientnet_b0 efficientnet_v2_s regnet_y_800mf regnet_x_3_2gf convnext_tiny vit_b_32 swin_t swin_v2_t '
          'maxvit_t').split()
DENSE = 'deeplabv3_resnet50 fcn_resnet50 lraspp_mobilenet_v3_large'.split()
VIDEOS = 'r3d_18 mc3_18 s3d'.split()


class Tensors(nn.Module):
    """Only the tensors of what a model returns, in order."""

    def __init__(self, net, **options):
        super().__init__()
        self.net, self.options = net, options

    def forward(self, *inputs):
        made = self.net(*inputs, **self.options)
        return tuple(v for v in torch.utils._pytree.tree_leaves(dict(made) if hasattr(made, 'keys') else made) if isinstance(v, torch.Tensor))


def seeded(make, kind):
    torch.manual_seed(0)
    return Tensors(make().eval().to(kind)).eval()


def vision(group, name, kind):
    def make():
        import torchvision.models as models
        where = {'dense': models.segmentation, 'video': models.video}.get(group, models)
        extra = {'weights_backbone': None} if group == 'dense' else {'init_weights': True} if name in ('googlenet', 'inception_v3') else {}
        return seeded(lambda: getattr(where, name)(weights=None, **extra), kind)
    return Later(make)


def language(name, part='Model', **sizes):
    """`part`: of the class's name behind that of the configuration."""
    def make():
        import transformers
        config = getattr(transformers, name + 'Config')(**sizes)
        config._attn_implementation = 'eager' if name == 'Mamba' else 'sdpa'
        config.use_cache = False
        if part == 'Encoder':
            return seeded(lambda: transformers.models.whisper.modeling_whisper.WhisperEncoder(config), b16)
        return seeded(lambda: getattr(transformers, name + part)(config), b16)
    return Later(make)


for name in IMAGES:
    side = 299 if name == 'inception_v3' else 224
    add('model_' + name, vision('image', name, b16), t(8, 3, side, side), tolerance=0.1)
for name in ('resnet18', 'mobilenet_v2', 'vit_b_32', 'convnext_tiny'):
    add(f'model_{name}_f32', vision('image', name, f32), t(8, 3, 224, 224, kind=f32))
for name in ('resnet18', 'mobilenet_v3_large', 'efficientnet_b0', 'densenet121'):
    add(f'model_{name}_one', vision('image', name, b16), t(1, 3, 224, 224), tolerance=0.1)
for name in ('resnet18', 'mobilenet_v3_large', 'efficientnet_b0', 'convnext_tiny', 'vit_b_32', 'swin_t', 'densenet121'):
    add('model_open_' + name, vision('image', name, b16), t(8, 3, 224, 224), tolerance=0.1, open=True, fixed=((0, 1), (0, 2), (0, 3)))
add('model_open_fcn_resnet50', vision('dense', 'fcn_resnet50', b16), t(2, 3, 384, 384), tolerance=0.1, open=True, fixed=((0, 1),))
for name in DENSE:
    add('model_' + name, vision('dense', name, b16), t(2, 3, 384, 384), tolerance=0.1)
for name in VIDEOS:
    add('model_' + name, vision('video', name, b16), t(2, 3, 16, *[224 if name == 's3d' else 112] * 2), tolerance=0.1)

WIDTHS = dict(hidden_size=512, num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048)
IDS = t(4, 256, kind=i64, low=5, high=1000)
for name, more in dict(Bert={}, Roberta={}, Electra=dict(embedding_size=128), Llama=dict(num_key_value_heads=4), Mistral=dict(num_key_value_heads=4),
                       Qwen2=dict(num_key_value_heads=4), Gemma=dict(num_key_value_heads=4, head_dim=64), Phi={}, GPTNeoX={}, Mamba=dict(state_size=16)).items():
    add('model_' + name.lower(), language(name, vocab_size=8192, **WIDTHS, **more), IDS, tolerance=0.1)
    if name in ('Bert', 'Llama', 'Qwen2'):
        add('model_open_' + name.lower(), language(name, vocab_size=8192, **WIDTHS, **more), IDS, tolerance=0.1, open=True)
add('model_gpt2', language('GPT2', vocab_size=8192, n_embd=512, n_layer=6, n_head=8), IDS, tolerance=0.1)
add('model_distilbert', language('DistilBert', vocab_size=8192, dim=512, n_layers=6, n_heads=8, hidden_dim=2048), IDS, tolerance=0.1)
add('model_albert', language('Albert', vocab_size=8192, embedding_size=128, **WIDTHS), IDS, tolerance=0.1)
add('model_t5_encoder', language('T5', 'EncoderModel', vocab_size=8192, d_model=512, d_kv=64, num_layers=6, num_heads=8, d_ff=2048), IDS, tolerance=0.1)
add('model_wav2vec2', language('Wav2Vec2', **WIDTHS), t(2, 48000), tolerance=0.1)
add('model_vit', language('ViT', image_size=224, patch_size=16, **WIDTHS), t(8, 3, 224, 224), tolerance=0.1)
add('model_whisper_encoder', language('Whisper', 'Encoder', d_model=512, encoder_layers=6, encoder_attention_heads=8, encoder_ffn_dim=2048), t(2, 80, 3000), tolerance=0.1)
add('model_clip_text', language('CLIPText', vocab_size=8192, **WIDTHS), t(8, 77, kind=i64, low=5, high=1000), tolerance=0.1)
