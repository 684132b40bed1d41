/** The account that pays for what the operator runs: shadows of routes (`surfaces/jobs/run-shadow.ts`). No token belongs to it. */
export const OPERATOR_ACCOUNT = "operator";
