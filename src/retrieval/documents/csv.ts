/** The kind `csv`. A deployment without it has the writer of tables for spreadsheets. */
export { convertCsv } from "./csv-table.ts";
