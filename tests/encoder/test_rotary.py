"""Rotary positions: the rotation itself, and how far half precision carries it."""

import torch

from weft.encoder.rotary import rotate, rotation


def test_rotary_is_a_product_of_complex_numbers():
    x = torch.randn(2, 3, 5, 8, dtype=torch.float64)
    positions = torch.randint(0, 50, (2, 5))
    turned = rotate(x, rotation(positions, 8, 100.0, torch.float64))
    for i in range(4):
        angle = positions[:, None].double() * 100.0 ** (-2 * i / 8)
        expected = torch.complex(x[..., i], x[..., i + 4]) * torch.polar(torch.ones_like(angle), angle)
        torch.testing.assert_close(turned[..., i], expected.real, atol=1e-12, rtol=0)
        torch.testing.assert_close(turned[..., i + 4], expected.imag, atol=1e-12, rtol=0)


def test_half_precision_tells_far_positions_apart():
    positions = torch.tensor([[1000, 1001, 1002]])
    whole, half = (rotation(positions, 8, 10_000.0, dtype) for dtype in (torch.float32, torch.bfloat16))
    torch.testing.assert_close(half.cos.float(), whole.cos, atol=0.01, rtol=0)
    torch.testing.assert_close(half.sin.float(), whole.sin, atol=0.01, rtol=0)
