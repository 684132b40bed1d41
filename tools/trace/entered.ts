/** The name of the set of entered functions in the global scope of the Worker. */
export const ENTERED = "__enteredFunctions";
