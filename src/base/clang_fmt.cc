// A function of libfmt 9 under the name that clang gives it. Debian's libfmt is
// built by g++, whose name for this instance differs, so programs of clang that
// format into a buffer of their own do not link. Only clang compiles this file.
#include <fmt/format.h>

#if FMT_VERSION < 100000
namespace fmt::detail {

template void vformat_to(buffer<char>& buffer,
                         string_view format,
                         basic_format_args<FMT_BUFFER_CONTEXT(char)> args,
                         locale_ref locale);

}  // namespace fmt::detail
#endif
