// Prints the first block of a document in this language that contains this text: node block.js <document> <language> <text>
import { readFileSync } from "node:fs";

const [document, language, text] = process.argv.slice(2);
const blocks = readFileSync(`${process.env.ROOT}/${document}`, "utf8").split(`\n\`\`\`${language}\n`).slice(1);
const found = blocks.map((block) => block.split("\n```")[0]).find((block) => block.includes(text));
if (!found) throw new Error(`${document} shows no ${language} with ${text}`);
console.log(found);
