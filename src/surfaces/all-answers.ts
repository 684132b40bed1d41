/** The schemas of all answers, as one module. */
export * from "./accounts/answers.ts";
export * from "./aisearch/answers.ts";
export * from "./answers.ts";
export * from "./gateway/management-answers.ts";
export * from "./jobs/answers.ts";
export * from "./responses/answers.ts";
export * from "./vectorize/answers.ts";
