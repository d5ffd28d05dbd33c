# Writes a C++ file that has the contents of text files as constants.
#
#   cmake -DOUT=FILE.cc -DHEADER=launcher/report_texts.h -DSPACE=acp::launcher
#     "-DTEXTS=kName=FILE;..." -P embed_texts.cmake
#
# HEADER declares the constants in the namespace SPACE. No text may have the
# characters )text" in it. Called while the project is built.
set(code "#include \"${HEADER}\"\n\nnamespace ${SPACE} {\n")
foreach(one IN LISTS TEXTS)
  string(REGEX MATCH "^([^=]*)=(.*)$" one "${one}")
  set(name "${CMAKE_MATCH_1}")
  set(file "${CMAKE_MATCH_2}")
  file(READ "${file}" text)
  string(FIND "${text}" ")text\"" at)
  if(NOT at EQUAL -1)
    message(FATAL_ERROR "${file} has )text\" in it")
  endif()
  string(APPEND code "\nconst std::string_view ${name} = R\"text(")
  string(APPEND code "${text}")
  string(APPEND code ")text\";\n")
endforeach()
string(APPEND code "\n}  // namespace ${SPACE}\n")
file(WRITE "${OUT}" "${code}")
