/** The prefix of the bindings through which `ganglion/vitest` names the test that runs. */
export const TEST_BINDING_PREFIX = "GANGLION_RECORDINGS_";
