program hello
  use acp
  implicit none
  if (acp_init() /= 0) error stop 'acp_init'
  print '(a,i0,a,i0)', 'hello from rank ', acp_rank(), ' of ', acp_procs()
  if (acp_sync() /= 0) error stop 'acp_sync'
  if (acp_finalize() /= 0) error stop 'acp_finalize'
end program hello
