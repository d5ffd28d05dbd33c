"""Spack recipe of ACP, for Spack 1.0 and later.

In a checkout of the project:

    spack repo create my_packages acp
    spack repo add my_packages/spack_repo/acp
    mkdir my_packages/spack_repo/acp/packages/acp
    cp tools/packaging/spack/package.py my_packages/spack_repo/acp/packages/acp/
    spack dev-build acp@0.2.0 +fortran
    spack test run acp
"""

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

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
    variant("pmix", default=False, description="Start under mpirun and srun with PMIx")
    variant("fortran", default=False, description="Fortran modules and acpfc")
    variant("python", default=False, description="The Python package acp")
    variant("hmpi", default=False, description="HMPI, for the MPI that is chosen")

    generator("ninja")
    conflicts("%gcc@:11", msg="ACP is written in C++20")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cli11@2.1:", type="build")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("fmt@9:")
    depends_on("hwloc@2:")
    depends_on("libsodium")
    depends_on("ncurses")
    depends_on("xxhash")
    depends_on("rdma-core", when="+verbs")
    depends_on("ucx@1.11:", when="+ucx")
    depends_on("pmix@4:", when="+pmix")
    depends_on("mpi@3.1:", when="+hmpi")
    requires(
        "^openmpi", "^mpich", policy="one_of", when="+hmpi",
        msg="HMPI is made for Open MPI and for MPICH",
    )
    extends("python@3.10:", when="+python")
    depends_on("py-numpy", type=("build", "run"), when="+python")

    def cmake_args(self):
        # Spack has no package of intel-ipsec-mb. What AUTO finds belongs to the system.
        args = [
            self.define("ACP_BUILD_TESTS", False),
            self.define("ACP_IPSEC_MB", False),
        ]
        for name in ("verbs", "ucx", "pmix", "fortran"):
            args.append(self.define_from_variant("ACP_" + name.upper(), name))
        python = False
        if self.spec.satisfies("+python"):
            python = self.spec["python"].command.path
        args.append(self.define("ACP_PYTHON", python))
        # HMPI is built for each MPI whose compiler is named so, and for no other. CMake
        # looks for a compiler itself where the name is *-NOTFOUND.
        for mpi in ("openmpi", "mpich"):
            compiler = False
            if self.spec.satisfies("+hmpi ^" + mpi):
                compiler = self.spec["mpi"].mpicc
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
