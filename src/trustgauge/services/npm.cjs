// Sentiment packages of npm as a program that answers line by line (see command.py).
// node npm.cjs FOLDER '{"package": "nlp-js" | "natural", "score": ..., "vocabulary": ..., "stemmer": ...}'
'use strict'

const { createRequire } = require('node:module')
const path = require('node:path')
const readline = require('node:readline')

// Standard output belongs to the answers; what a package says goes where it does no harm.
console.log = console.info = console.debug = console.error

const AFINN_LARGEST = 5 // AFINN's words have a valence of -5 to 5

const [folder, given] = process.argv.slice(2)
const settings = JSON.parse(given)
const load = createRequire(path.join(folder, 'package.json'))

// Each scorer gives { sum, average, known } of a text: the sum of the words' values, its mean over
// all words, and how many words have a value. With no word at all the average is not a number.
function nlpJs () {
  const { Container } = load('@nlpjs/core')
  const { SentimentAnalyzer } = load('@nlpjs/sentiment')
  const { LangEn } = load('@nlpjs/lang-en')
  const container = new Container()
  container.use(LangEn)
  const analyzer = new SentimentAnalyzer({ container })
  const negations = new Set(container.get('sentiment-en').negations.words)
  return async text => {
    const { sentiment, tokens } = await analyzer.process({ locale: 'en', text })
    const negating = tokens.filter(token => negations.has(token.toLowerCase())).length
    // nlp.js counts a negation as a hit, though it has no value of its own.
    return { sum: sentiment.score, average: sentiment.average, known: sentiment.numHits - negating }
  }
}

// The package's index would read the .env file of the working folder and bring database clients,
// so its parts are loaded one by one.
function natural () {
  const Analyzer = load('natural/lib/natural/sentiment/SentimentAnalyzer.js')
  const { WordTokenizer } = load('natural/lib/natural/tokenizers/regexp_tokenizer.js')
  const porter = settings.stemmer === 'porter' && load('natural/lib/natural/stemmers/porter_stemmer.js')
  const analyzer = new Analyzer('English', porter || undefined, settings.vocabulary)
  const tokenizer = new WordTokenizer()
  const largest = settings.vocabulary === 'afinn' ? AFINN_LARGEST : 1
  return async text => {
    const words = tokenizer.tokenize(text)
    const average = analyzer.getSentiment(words) / largest
    const known = settings.score === 'known' ? words.filter(word => analyzer.getSentiment([word]) !== 0).length : 0
    return { sum: words.length ? average * words.length : 0, average, known }
  }
}

const MEASURES = {
  average: ({ sum, average }) => (sum === 0 ? 0 : average),
  known: ({ sum, known }) => (sum === 0 ? 0 : sum / known),
  sum: ({ sum }) => sum / (1 + Math.abs(sum))
}

async function main () {
  const scorer = { 'nlp-js': nlpJs, natural }[settings.package]()
  for await (const line of readline.createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    const { id, text } = JSON.parse(line)
    let answer
    try {
      const output = MEASURES[settings.score](await scorer(text))
      // JSON has no NaN; both packages can give one ("constructor" is a word of every JavaScript table).
      answer = Number.isFinite(output) ? { id, output } : { id, error: 'the package gives no number for this text' }
    } catch (error) {
      answer = { id, error: `${error.name}: ${error.message}` }
    }
    process.stdout.write(JSON.stringify(answer) + '\n')
  }
}

main()
