/** By file, in the order of their paths, then by the text of the mutation as the report shows it: `*` stands for anything. */
export type Explained = Readonly<Record<string, Readonly<Record<string, string>>>>;
