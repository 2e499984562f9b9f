"""The generated store, made once for all tests of a process. They only read it; a test that writes makes its own."""

from packs.retail.generate import generate

STORE = generate()
