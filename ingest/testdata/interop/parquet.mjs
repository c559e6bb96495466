// Prints the rows of a Parquet file as JSON, a line each, with a reader that is not ours.
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";

const file = await asyncBufferFromFile(process.argv[2]);
for (const row of await parquetReadObjects({ file })) {
  console.log(JSON.stringify(row, (_, v) => (typeof v === "bigint" ? Number(v) : v)));
}
