"""Programs with complex numbers of Python's, and with writes to complex tensors."""
import torch
from fx_cases import Case, dyadic
from torch.export import Dim


def python_numbers():
    """Complex numbers of Python's, and writes to complex tensors and to their parts."""
    def as_pairs(*tensors):
        return [torch.view_as_real(t.resolve_conj()) if t.is_complex() else t for t in tensors]

    def constants(x):
        z, first = torch.complex(x, x.flip(0)), x[0, 0]
        return as_pairs(
            z * (1 + 2j), x * 1j, z + 1j, z - (2 - 1j), z / (3 + 4j), (1 - 2j) / z, 1j - z, z**2, z ** (1 + 1j), (2 + 1j) ** z, torch.add(z, z, alpha=1j), z == 1 + 1j, z != x,
            torch.where(x > 0, z, 1j), torch.where(x > 0, 1 + 1j, z), torch.where(x > 0, z, torch.arange(4)), torch.where(x > 0, z, x > 1), z.masked_fill(x > 0, 3 - 1j),
            torch.nn.functional.pad(z, (1, 1), value=2.0), z.index_fill(1, torch.tensor([0]), 1j), z.scatter(1, torch.tensor([[0], [1]]), 2j), z.new_full((2,), 1j) + first,
            torch.full((3,), 1 + 2j) + first, torch.full_like(z, 2 - 5j), torch.ones_like(z), torch.ones(x.shape[0], dtype=torch.complex64) * first,
            torch.eye(3, dtype=torch.complex64) + first, torch.linspace(0, 1 + 1j, 5, dtype=torch.complex64) + first, torch.tensor(1 + 2j) * z)

    def written(x):
        z = torch.complex(x, x) * 1
        z[0] = 3
        z[:, 1:] *= 1j
        z.t()[0] += z[1, 1]
        z.reshape(-1)[::3].zero_()
        z[x > 1] = 5j
        z[1:].fill_diagonal_(2 - 1j)
        return as_pairs(z, z.clone().fill_(1 - 1j))

    def written_parts(x):
        z = torch.complex(x, x + 1) * 1
        torch.view_as_real(z)[..., 0] = 5
        z.real[0] = 7
        z.imag.mul_(2)
        y = x.clone()
        w = torch.view_as_complex(y.reshape(-1, 2, 2))
        w.mul_(2j)
        return *as_pairs(z, w), y

    runs = [(dyadic(2, 4),), (dyadic(5, 4),)]
    yield Case("python_numbers_open", constants, runs, ({0: Dim.AUTO},))
    yield Case("written_complex", written, [(dyadic(3, 4),)])
    yield Case("written_complex_open", written, [(dyadic(3, 4),), (dyadic(5, 4),)], ({0: Dim.AUTO},))
    yield Case("written_parts_open", written_parts, runs, ({0: Dim.AUTO},))
