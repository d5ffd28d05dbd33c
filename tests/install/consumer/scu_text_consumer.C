// A user's program that uses what the test program of the text's 2.9.1 uses, and
// includes nothing else: parsing, seeds, places, and contiguous and strided
// transfers of ints, floats and doubles.
#include "sysfunc.h"

static int me;

static void expect(int is_true, const char* what) {
  if (!is_true) {
    printf("[%i] %s\n", me, what);
    exit(EXIT_FAILURE);
  }
}

/// A number of its own for each node and index.
static int number_at(int t, int i) {
  return i * 1000 + (t + CoorT() + SizeT()) % SizeT();
}

static void parse_words() {
  char* place = (char*)" {GRID = 2,1}\n tokens";
  char* text = place;
  const char* expected[] = {"GRID", "2", "1", "tokens"};
  for (int i = 0; i < 4; i++) {
    char* word = MPICommsStringTokenizer(text, "{} =,\n\t", &place);
    expect(word != NULL && strcmp(word, expected[i]) == 0, "a word");
    free(word);
  }
  expect(MPICommsStringTokenizer(text, "{} =,\n\t", &place) == NULL, "the end");
}

/// Ints contiguous, floats in blocks of 5 of 10: forth by SCUTrans.
static void transfer_words() {
  int out[100], in[100];
  float blocks_out[100], blocks_in[100];
  for (int i = 0; i < 100; i++) {
    out[i] = number_at(0, i);
    blocks_out[i] = (float)number_at(0, i);
    in[i] = -1;
    blocks_in[i] = -1;
  }
  SCUDirArg send((void*)out, SCU_TM, SCU_SEND, 100);
  SCUDirArg receive((void*)in, SCU_TP, SCU_REC, 100);
  SCUDirArg send_blocks, receive_blocks;
  send_blocks.Init((void*)blocks_out, SCU_TP, SCU_SEND, 5, 10, 6);
  receive_blocks.Init((void*)blocks_in, SCU_TM, SCU_REC, 5, 10, 6);
  SCUTrans(&send);
  SCUTrans(&receive);
  SCUSetDMA(&send_blocks);
  SCUSetDMA(&receive_blocks);
  SCUTransAddr(&send_blocks);
  SCUTransAddr(&receive_blocks);
  SCUTransComplete();
  for (int i = 0; i < 100; i++) {
    expect(in[i] == number_at(1, i), "ints");
    const float sent = (float)number_at(-1, i);
    expect(blocks_in[i] == (i % 10 < 5 ? sent : -1), "floats");
  }
}

/// Doubles along all axes at once, received where they were sent from.
static void transfer_doubles() {
  double data[NDIM][250];
  SCUDirArg* send[NDIM];
  SCUDirArg* receive[NDIM];
  for (int axis = 0; axis < NDIM; axis++) {
    for (int i = 0; i < 250; i++) {
      data[axis][i] = number_at(0, i) + 0.5 * axis;
    }
    send[axis] = new SCUDirArg();
    send[axis]->SetDataSize(sizeof(double));
    send[axis]->Init((void*)data[axis], (SCUDir)(2 * axis), SCU_SEND, 250);
    receive[axis] = new SCUDirArg();
    receive[axis]->Init((void*)data[axis], (SCUDir)(2 * axis + 1), SCU_REC, 250);
    receive[axis]->SetDataSize(sizeof(double));
  }
  SCUTrans(send, NDIM);
  SCUTrans(receive, NDIM);
  SCUTransComplete();
  for (int axis = 0; axis < NDIM; axis++) {
    for (int i = 0; i < 250; i++) {
      const int from = axis == SCU_T ? 1 : 0;
      expect(data[axis][i] == number_at(from, i) + 0.5 * axis, "doubles");
    }
    delete send[axis];
    delete receive[axis];
  }
}

int main() {
  int is_root = FALSE, place[NDIM];
  SCUCommsInit();
  me = UniqueID();
  place[SCU_T] = CoorT();
  place[SCU_X] = CoorX();
  place[SCU_Y] = CoorY();
  place[SCU_Z] = CoorZ();
  if (place[SCU_T] + place[SCU_X] + place[SCU_Y] + place[SCU_Z] == 0) {
    is_root = TRUE;
  }
  parse_words();
  expect(Seed() == SeedT() && SeedS() == SeedST(), "seeds");
  expect(fabs((double)SeedS()) > 0, "a seed");
  sync();
  transfer_words();
  transfer_doubles();
  if (is_root) {
    printf("SCU text: %i ranks\n", NumNodes());
  }
  exit(EXIT_SUCCESS);
}
