/** The variable with the folder of a run of the tests. It is removed at the end, so what processes share there is never of another run. */
export const RUN_FOLDER = "TESTS_RUN_FOLDER";
