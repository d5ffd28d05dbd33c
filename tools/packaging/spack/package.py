"""Spack recipe of ACP.

In a checkout of the project:

    spack repo create my_packages && mkdir -p my_packages/packages/acp
    cp tools/packaging/spack/package.py my_packages/packages/acp/
    spack repo add my_packages
    spack dev-build acp@0.2.0 +fortran
"""

from spack.package import *


class Acp(CMakePackage):
    """Advanced Communication Primitives: a global address space over all ranks of a
    job, with one-sided copies and atomics in an explicit order, channels, and data
    structures that any rank changes without their owner."""

    homepage = "https://acp.invalid"
    license("BSD-3-Clause")

    # The project has no public archive yet: spack dev-build takes a checkout.
    version("0.2.0")

    variant("verbs", default=True, description="RDMA devices: InfiniBand and RoCE")
    variant("ucx", default=False, description="The networks of UCX")
    variant("ipsec_mb", default=False, description="Faster tags of UDP on x86-64")
    variant("pmix", default=False, description="Start under mpirun and srun with PMIx")
    variant("fortran", default=False, description="Fortran modules and acpfc")
    variant("python", default=False, description="The Python package acp")
    variant("hmpi", default=False, description="HMPI, for the MPI that is chosen")

    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cli11@2:", type="build")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("fmt@9:")
    depends_on("hwloc@2:")
    depends_on("libsodium")
    depends_on("xxhash")
    depends_on("rdma-core", when="+verbs")
    depends_on("ucx@1.13:", when="+ucx")
    depends_on("pmix@4:", when="+pmix")
    depends_on("intel-ipsec-mb@1.3:1", when="+ipsec_mb")
    conflicts("+ipsec_mb", when="target=aarch64:", msg="The module is for x86-64")
    depends_on("mpi@3.1:", when="+hmpi")
    extends("python@3.9:", when="+python")
    depends_on("py-numpy", type=("build", "run"), when="+python")

    generator("ninja")
    conflicts("%gcc@:11", msg="ACP is written in C++20")

    def cmake_args(self):
        def wanted(name):
            return "ON" if self.spec.satisfies("+" + name) else "OFF"

        args = [self.define("ACP_BUILD_TESTS", False)]
        for name in ("verbs", "ucx", "pmix", "ipsec_mb", "fortran", "python"):
            args.append(self.define("ACP_" + name.upper(), wanted(name)))
        # HMPI is built for each MPI whose compiler is named so, and for no other.
        for mpi in ("openmpi", "mpich"):
            compiler = "ACP_MPICC_{0}-NOTFOUND".format(mpi)
            if self.spec.satisfies("+hmpi ^" + mpi):
                compiler = self.spec["mpi"].prefix.bin.mpicc
            args.append(self.define("ACP_MPICC_" + mpi, compiler))
        return args

    def test_hello(self):
        """two ranks greet each other"""
        acpcc = which(self.prefix.bin.acpcc)
        acprun = which(self.prefix.bin.acprun)
        source = join_path(self.prefix.share.doc.acp.examples, "hello.c")
        acpcc(source, "-o", "hello")
        output = acprun("-np", "2", "./hello", output=str.split, error=str.split)
        assert "2 ranks were here" in output, output
