# read_mutant(RESULT NAME FILE OLD NEW): sets RESULT to the text of src/FILE with OLD
# replaced by NEW. OLD has to be there exactly once, so a mutant is never empty.
function(read_mutant result name file old new)
  set(source ${PROJECT_SOURCE_DIR}/src/${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(READ ${source} text)
  string(FIND "${text}" "${old}" first)
  string(FIND "${text}" "${old}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR "mutant ${name}: its text is not in ${file} exactly once")
  endif()
  string(REPLACE "${old}" "${new}" text "${text}")
  set(${result} "${text}" PARENT_SCOPE)
endfunction()
